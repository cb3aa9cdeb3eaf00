//! Decodes UTF-8 that arrives in pieces.
//!
//! A character split between two pieces comes out whole, with the second. What is not UTF-8 becomes
//! U+FFFD, one for each maximal part of a character, and a byte order mark at the very beginning is
//! left out: what every decoder of the web platform does.

/// The decoder; holds back the bytes of a character that is not complete.
#[derive(Debug, Default)]
pub(crate) struct Utf8Stream {
    incomplete: Vec<u8>,
    begun: bool,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Utf8Stream {
    /// Appends what a piece decodes to.
    pub(crate) fn push(&mut self, piece: &[u8], text: &mut String) {
        let start = text.len();
        if self.incomplete.is_empty() {
            self.decode(piece, text);
        } else {
            let mut joined = std::mem::take(&mut self.incomplete);
            joined.extend_from_slice(piece);
            self.decode(&joined, text);
        }
        if !self.begun && text.len() > start {
            self.begun = true;
            if text
                .get(start..)
                .is_some_and(|new| new.starts_with(BYTE_ORDER_MARK))
            {
                text.remove(start);
            }
        }
    }

    /// Appends what an incomplete character at the end stands for.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.incomplete).is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn decode(&mut self, mut bytes: &[u8], text: &mut String) {
        loop {
            let error = match str::from_utf8(bytes) {
                Ok(valid) => {
                    text.push_str(valid);
                    return;
                }
                Err(error) => error,
            };
            let (valid, rest) = bytes
                .split_at_checked(error.valid_up_to())
                .unwrap_or_default();
            text.push_str(str::from_utf8(valid).unwrap_or_default());
            let Some(length) = error.error_len() else {
                self.incomplete.extend_from_slice(rest);
                return;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            bytes = rest.get(length..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut stream = Utf8Stream::default();
        let mut text = String::new();
        for piece in pieces {
            stream.push(piece, &mut text);
        }
        stream.finish(&mut text);
        text
    }

    #[test]
    fn broken_text_is_marked() {
        for (bytes, text) in [
            (&b"\xff\xfe bytes"[..], "\u{fffd}\u{fffd} bytes"),
            (b"a\xe6\x97", "a\u{fffd}"),
            (b"\xe6\x97a", "\u{fffd}a"),
            (b"\xf0\x9f\x98\x80", "😀"),
            (b"\xef\xbb\xbfa\xef\xbb\xbf", "a\u{feff}"),
        ] {
            assert_eq!(decode([bytes]), text, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "[aé日😀\u{feff}]{0,12}".prop_map(String::into_bytes),
            ],
            size in 1..5usize,
        ) {
            prop_assert_eq!(decode(bytes.chunks(size)), decode([&bytes[..]]));
            let whole = String::from_utf8_lossy(&bytes);
            prop_assert_eq!(decode([&bytes[..]]), whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&whole));
        }
    }
}
