//! Numbers and texts in few bytes: unsigned numbers in groups of seven bits, lowest first; texts with their length.

/// Bits of a number in one byte.
const GROUP_BITS: u32 = 7;

/// Set in all bytes of a number except the last one.
const CONTINUES: u8 = 0x80;

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(super) struct Encoder(Vec<u8>);

impl Encoder {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn number(&mut self, mut value: u64) {
        loop {
            let [low, ..] = value.to_le_bytes();
            value >>= GROUP_BITS;
            if value == 0 {
                return self.0.push(low & !CONTINUES);
            }
            self.0.push(low | CONTINUES);
        }
    }

    /// Writes a number that may be negative; small ones of either sign take few bytes.
    pub(super) fn signed(&mut self, value: i64) {
        self.number((value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned());
    }

    pub(super) fn count(&mut self, value: usize) {
        self.number(value as u64);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Reads values in the order they were written; `None` for bytes that are no such value.
#[derive(Debug)]
pub(super) struct Decoder<'bytes>(&'bytes [u8]);

impl<'bytes> Decoder<'bytes> {
    pub(super) fn new(bytes: &'bytes [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(GROUP_BITS as usize) {
            let byte = self.byte()?;
            let group = u64::from(byte & !CONTINUES);
            let shifted = group << shift;
            if shifted >> shift != group {
                return None;
            }
            value |= shifted;
            if byte & CONTINUES == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads the number of values that follow. Each takes at least a byte, so that a wrong number cannot allocate more
    /// than what was received.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    pub(super) fn text(&mut self) -> Option<&'bytes str> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_written() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let signed = [0, 1, -1, 63, -64, i64::MAX, i64::MIN];
        let texts = ["", "a", "grüße\n"];
        let mut encoder = Encoder::default();
        for value in &numbers {
            encoder.number(*value);
        }
        for value in &signed {
            encoder.signed(*value);
        }
        for text in &texts {
            encoder.text(text);
        }
        let bytes = encoder.into_bytes();
        let mut decoder = Decoder::new(&bytes);
        for value in numbers {
            assert_eq!(decoder.number(), Some(value));
        }
        for value in signed {
            assert_eq!(decoder.signed(), Some(value));
        }
        for text in texts {
            assert_eq!(decoder.text(), Some(text));
        }
        assert!(decoder.is_at_end());
    }

    #[test]
    fn other_bytes_are_no_values() {
        for bytes in [&[][..], &[0x80], &[0xFF; 11], &[0xFF; 10]] {
            assert_eq!(Decoder::new(bytes).number(), None, "{bytes:?}");
        }
        // Longer than the bytes that follow, and not UTF-8.
        for bytes in [&[5, b'a'][..], &[1, 0xFF], &[0xFF, 0xFF, 0xFF, 0x7F, 1]] {
            assert_eq!(Decoder::new(bytes).text(), None, "{bytes:?}");
        }
    }
}
