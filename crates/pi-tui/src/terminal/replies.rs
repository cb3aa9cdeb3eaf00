//! Questions to the terminal: which keyboard protocol it speaks, and which answers are still to come.

use crate::input::{KeyboardMode, TerminalReply};

/// Asks for Kitty's disambiguation, event types and alternate keys, whether that worked, and for the
/// device attributes: every terminal answers the last, so that silence about the first is an answer.
const NEGOTIATE: &str = "\x1b[>7u\x1b[?u\x1b[c";
const MODIFY_OTHER_KEYS: &str = "\x1b[>4;2m";
const PLAIN_KEYS: &str = "\x1b[>4;0m";

/// Finds out how the terminal sends keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyboardNegotiation {
    kitty: bool,
    modify_other_keys: bool,
}

impl KeyboardNegotiation {
    /// Returns the questions.
    pub fn start(&mut self) -> &'static str {
        *self = Self::default();
        NEGOTIATE
    }

    /// Takes an answer and returns what to write because of it.
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

    /// Returns how keys are to be read, `windows_terminal` telling Ctrl+Backspace apart.
    pub fn mode(&self, windows_terminal: bool) -> KeyboardMode {
        KeyboardMode {
            kitty: self.kitty,
            backspace_is_ctrl: windows_terminal,
        }
    }
}

/// Knows whether answers are on their way, so that they are not taken for keys and leaving can wait.
///
/// Only the device attributes are counted: they are asked for last, terminals answer in order, and not
/// all of them know colors and cell sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingReplies {
    device_attributes: usize,
}

impl PendingReplies {
    /// Notes the questions among bytes about to be written.
    pub fn sent(&mut self, bytes: &str) {
        self.device_attributes += bytes.matches("\x1b[c").count();
    }

    /// Notes an answer.
    pub fn received(&mut self, reply: &TerminalReply) {
        if let TerminalReply::DeviceAttributes(_) = reply {
            self.device_attributes = self.device_attributes.saturating_sub(1);
        }
    }

    /// Returns whether an answer is on its way.
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
    fn answers_are_awaited_until_the_attributes_came() {
        let mut pending = PendingReplies::default();
        pending.sent(NEGOTIATE);
        assert!(pending.any());
        pending.received(&TerminalReply::KittyKeyboard(7));
        assert!(pending.any());
        pending.received(&TerminalReply::DeviceAttributes(Vec::new()));
        assert!(!pending.any());
    }
}
