//! Escape sequences in text: where they start and end, and which style they leave active.
//!
//! The iterator returns slices of its input, because wrap, slice and truncate copy sequences
//! unchanged; a callback parser could not do that. It follows ECMA-48: an unterminated sequence
//! extends to the end of the text and takes no columns.

use std::borrow::Cow;

mod style_state;

pub use style_state::StyleState;
pub(super) use style_state::hyperlink_target;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsiToken<'a> {
    /// Characters without escape sequences.
    Text(&'a str),
    /// One escape sequence, complete or cut off by the end of the text. Takes no columns.
    Sequence(&'a str),
}

/// Iterates over alternating runs of characters and escape sequences.
#[derive(Clone, Debug)]
pub struct AnsiTokens<'a> {
    rest: &'a str,
}

impl<'a> AnsiTokens<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for AnsiTokens<'a> {
    type Item = AnsiToken<'a>;

    fn next(&mut self) -> Option<AnsiToken<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = self.rest.as_bytes();
        let (length, is_text) = match memchr::memchr(ESCAPE, bytes) {
            Some(0) => (sequence_length(bytes), false),
            Some(start) => (start, true),
            None => (bytes.len(), true),
        };
        #[cfg(test)]
        super::linearity::count(length);
        // Every length ends before or after an ASCII byte, hence on a character boundary.
        let (token, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(if is_text {
            AnsiToken::Text(token)
        } else {
            AnsiToken::Sequence(token)
        })
    }
}

/// Returns the length in bytes of the escape sequence at the start of `bytes`.
fn sequence_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') => 2 + control_length(bytes.get(2..).unwrap_or_default()),
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            2 + string_length(bytes.get(2..).unwrap_or_default())
        }
        Some(0x20..=0x2f) => {
            let tail = bytes.get(1..).unwrap_or_default();
            let intermediates = tail
                .iter()
                .take_while(|byte| matches!(byte, 0x20..=0x2f))
                .count();
            let has_final = matches!(tail.get(intermediates), Some(0x30..=0x7e));
            1 + intermediates + usize::from(has_final)
        }
        Some(0x30..=0x7e) => 2,
        Some(_) | None => 1,
    }
}

/// Returns the length of a control sequence after `ESC [`. A stray byte ends it and is not
/// included.
fn control_length(body: &[u8]) -> usize {
    let parameters = body
        .iter()
        .take_while(|byte| matches!(byte, 0x20..=0x3f))
        .count();
    let has_final = matches!(body.get(parameters), Some(0x40..=0x7e));
    parameters + usize::from(has_final)
}

/// Returns the length of a control string after its introducer, including the terminator.
///
/// BEL terminates every kind of string here, not only OSC, because the cursor marker is an APC
/// string that ends in BEL. Any other escape sequence cancels the string, as in terminals.
fn string_length(body: &[u8]) -> usize {
    match memchr::memchr2(ESCAPE, BELL, body) {
        Some(end) if body.get(end) == Some(&BELL) => end + 1,
        Some(end) if body.get(end + 1) == Some(&b'\\') => end + 2,
        Some(end) => end,
        None => body.len(),
    }
}

pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    if memchr::memchr(ESCAPE, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    AnsiTokens::new(text)
        .filter_map(|token| match token {
            AnsiToken::Text(text) => Some(text),
            AnsiToken::Sequence(_) => None,
        })
        .collect::<String>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn sequences(text: &str) -> Vec<&str> {
        AnsiTokens::new(text)
            .filter_map(|token| match token {
                AnsiToken::Sequence(sequence) => Some(sequence),
                AnsiToken::Text(_) => None,
            })
            .collect()
    }

    #[test]
    fn every_kind_of_sequence_is_found() {
        let cases: &[(&str, &[&str])] = &[
            ("a\x1b[31mb", &["\x1b[31m"]),
            ("\x1b[38:2::1:2:3mx", &["\x1b[38:2::1:2:3m"]),
            ("\x1b[?25h\x1b[2 qx", &["\x1b[?25h", "\x1b[2 q"]),
            ("\x1b]8;;http://x\x1b\\l", &["\x1b]8;;http://x\x1b\\"]),
            ("\x1b]8;;http://x\x07l", &["\x1b]8;;http://x\x07"]),
            ("\x1b_pi:c\x07l", &["\x1b_pi:c\x07"]),
            ("\x1bPq#0\x1b\\l", &["\x1bPq#0\x1b\\"]),
            (
                "\x1b^pm\x1b\\\x1bXsos\x1b\\",
                &["\x1b^pm\x1b\\", "\x1bXsos\x1b\\"],
            ),
            ("\x1b(Bx\x1bcx", &["\x1b(B", "\x1bc"]),
            ("x\x1b", &["\x1b"]),
            ("x\x1b[12", &["\x1b[12"]),
            ("x\x1b[1\nm", &["\x1b[1"]),
            ("x\x1b[3é", &["\x1b[3"]),
            ("x\x1bé", &["\x1b"]),
            ("x\x1b]0;never ends", &["\x1b]0;never ends"]),
            ("x\x1b]0;cut\x1b[1my", &["\x1b]0;cut", "\x1b[1m"]),
        ];
        for (text, expected) in cases {
            assert_eq!(&sequences(text), expected, "{text:?}");
        }
    }

    #[test]
    fn stripping_keeps_text() {
        assert_eq!(strip_ansi("a\x1b[1mb\x1b]8;;u\x07c\x1b]8;;\x07"), "abc");
        assert!(matches!(strip_ansi("plain"), Cow::Borrowed("plain")));
    }
}
