//! Terminal queries: the supported keyboard protocol, and which replies are still pending.

use crate::input::{KeyboardMode, TerminalReply};

/// Requests Kitty's disambiguation, event types and alternate keys, queries whether that worked,
/// and queries the device attributes. Every terminal replies to the last query, so a missing reply
/// to the first one is conclusive.
const NEGOTIATE: &str = "\x1b[>7u\x1b[?u\x1b[c";
const MODIFY_OTHER_KEYS: &str = "\x1b[>4;2m";
const PLAIN_KEYS: &str = "\x1b[>4;0m";

/// Determines how the terminal encodes keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyboardNegotiation {
    kitty: bool,
    modify_other_keys: bool,
}

impl KeyboardNegotiation {
    /// Returns the queries to send.
    pub fn start(&mut self) -> &'static str {
        *self = Self::default();
        NEGOTIATE
    }

    /// Processes a reply and returns the bytes to write in response.
    pub fn receive(&mut self, reply: &TerminalReply) -> &'static str {
        match reply {
            TerminalReply::KittyKeyboard(flags) if *flags != 0 => {
                self.kitty = true;
                if std::mem::take(&mut self.modify_other_keys) {
                    return PLAIN_KEYS;
                }
                ""
            }
            TerminalReply::KittyKeyboard(_) | TerminalReply::DeviceAttributes(_)
                if !self.kitty && !self.modify_other_keys =>
            {
                self.modify_other_keys = true;
                MODIFY_OTHER_KEYS
            }
            _ => "",
        }
    }

    /// Returns how to decode keys. `windows_terminal` affects Ctrl+Backspace.
    pub fn mode(&self, windows_terminal: bool) -> KeyboardMode {
        KeyboardMode {
            kitty: self.kitty,
            backspace_is_ctrl: windows_terminal,
        }
    }
}

/// Tracks whether replies are pending, so that they are not taken for keys and exiting can wait for
/// them.
///
/// Only device attributes are counted: they are queried last, terminals reply in order, and not all
/// terminals support color and cell size queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingReplies {
    device_attributes: usize,
}

impl PendingReplies {
    /// Counts the queries among bytes about to be written.
    pub fn sent(&mut self, bytes: &str) {
        self.device_attributes += bytes.matches("\x1b[c").count();
    }

    pub fn received(&mut self, reply: &TerminalReply) {
        if let TerminalReply::DeviceAttributes(_) = reply {
            self.device_attributes = self.device_attributes.saturating_sub(1);
        }
    }

    /// Whether a reply is pending.
    pub fn any(&self) -> bool {
        self.device_attributes > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn terminals_without_kitty_keys_get_modify_other_keys() {
        let attributes = TerminalReply::DeviceAttributes(vec![62]);
        let cases: [(&[TerminalReply], &[&str], bool); 4] = [
            (
                &[TerminalReply::KittyKeyboard(7), attributes.clone()],
                &["", ""],
                true,
            ),
            (
                std::slice::from_ref(&attributes),
                &[MODIFY_OTHER_KEYS],
                false,
            ),
            (
                &[TerminalReply::KittyKeyboard(0), attributes.clone()],
                &[MODIFY_OTHER_KEYS, ""],
                false,
            ),
            (
                &[attributes.clone(), TerminalReply::KittyKeyboard(7)],
                &[MODIFY_OTHER_KEYS, PLAIN_KEYS],
                true,
            ),
        ];
        for (replies, expected, kitty) in cases {
            let mut negotiation = KeyboardNegotiation::default();
            negotiation.start();
            let written: Vec<&str> = replies
                .iter()
                .map(|reply| negotiation.receive(reply))
                .collect();
            assert_eq!(written, expected, "{replies:?}");
            assert_eq!(negotiation.mode(false).kitty, kitty);
        }
    }

    #[test]
    fn replies_are_pending_until_device_attributes_arrive() {
        let mut pending = PendingReplies::default();
        pending.sent(NEGOTIATE);
        assert!(pending.any());
        pending.received(&TerminalReply::KittyKeyboard(7));
        assert!(pending.any());
        pending.received(&TerminalReply::DeviceAttributes(Vec::new()));
        assert!(!pending.any());
    }
}
