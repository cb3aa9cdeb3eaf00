//! Streaming UTF-8 decoder. A character split between two chunks is emitted with the second one.
//! Invalid bytes become U+FFFD, one per maximal subpart, and a byte order mark at the start is
//! removed, as in decoders of the web platform.

/// Buffers the bytes of an incomplete character.
#[derive(Debug, Default)]
pub(crate) struct Utf8Stream {
    incomplete: Vec<u8>,
    started: bool,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Utf8Stream {
    /// Appends the decoded chunk to `text`.
    pub(crate) fn push(&mut self, chunk: &[u8], text: &mut String) {
        let start = text.len();
        if self.incomplete.is_empty() {
            self.decode(chunk, text);
        } else {
            let mut joined = std::mem::take(&mut self.incomplete);
            joined.extend_from_slice(chunk);
            self.decode(&joined, text);
        }
        if !self.started && text.len() > start {
            self.started = true;
            if text
                .get(start..)
                .is_some_and(|new| new.starts_with(BYTE_ORDER_MARK))
            {
                text.remove(start);
            }
        }
    }

    /// Appends a replacement character if the input ends within a character.
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

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut stream = Utf8Stream::default();
        let mut text = String::new();
        for chunk in chunks {
            stream.push(chunk, &mut text);
        }
        stream.finish(&mut text);
        text
    }

    #[test]
    fn invalid_bytes_are_replaced() {
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
        fn result_does_not_depend_on_chunking(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "[aé日😀\u{feff}]{0,12}".prop_map(String::into_bytes),
            ],
            size in 1..5usize,
        ) {
            prop_assert_eq!(decode(bytes.chunks(size)), decode([&bytes[..]]));
            let expected = String::from_utf8_lossy(&bytes);
            prop_assert_eq!(decode([&bytes[..]]), expected.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&expected));
        }
    }
}
