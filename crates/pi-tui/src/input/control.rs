//! Structure of a control sequence (CSI): marker, parameters, intermediates, final byte.

/// A parsed control sequence, without `ESC [`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ControlSequence<'a> {
    /// A private marker: one of `?`, `>`, `<` and `=`.
    pub(super) marker: Option<u8>,
    pub(super) parameters: Parameters<'a>,
    pub(super) intermediates: &'a [u8],
    pub(super) final_byte: u8,
}

impl<'a> ControlSequence<'a> {
    /// Parses one complete sequence. Returns `None` if it is incomplete or another kind of
    /// sequence.
    pub(super) fn parse(raw: &'a [u8]) -> Option<Self> {
        let body = raw.strip_prefix(b"\x1b[")?;
        let (final_byte, body) = body.split_last()?;
        let (marker, body) = match body {
            [marker @ (b'?' | b'>' | b'<' | b'='), rest @ ..] => (Some(*marker), rest),
            _ => (None, body),
        };
        let length = body
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b';'))
            .count();
        let (parameters, intermediates) = body.split_at_checked(length)?;
        let well_formed = matches!(final_byte, 0x40..=0x7e)
            && intermediates.iter().all(|byte| matches!(byte, 0x20..=0x2f));
        well_formed.then_some(Self {
            marker,
            parameters: Parameters(parameters),
            intermediates,
            final_byte: *final_byte,
        })
    }

    /// Whether the sequence has the form of a key: no marker and no intermediates.
    pub(super) fn is_plain(&self) -> bool {
        self.marker.is_none() && self.intermediates.is_empty()
    }
}

/// Parameters separated by `;`, each with parts separated by `:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameters<'a>(&'a [u8]);

impl<'a> Parameters<'a> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of parameters. An empty list has one empty parameter.
    pub(super) fn len(self) -> usize {
        self.0.split(|byte| *byte == b';').count()
    }

    /// Returns one part of a parameter, or `None` if it is missing, empty or not a valid number.
    pub(super) fn part(self, parameter: usize, part: usize) -> Option<u32> {
        let parameter = self.0.split(|byte| *byte == b';').nth(parameter)?;
        number(parameter.split(|byte| *byte == b':').nth(part)?)
    }

    /// Returns the first part of a parameter.
    pub(super) fn get(self, parameter: usize) -> Option<u32> {
        self.part(parameter, 0)
    }

    /// Returns the first parts of all parameters, with missing ones as 0.
    pub(super) fn numbers(self) -> impl Iterator<Item = u32> + 'a {
        self.0
            .split(|byte| *byte == b';')
            .map(|parameter| number(parameter).unwrap_or(0))
    }
}

/// Parses decimal digits. Returns `None` for anything else or if the value does not fit a `u32`.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_parsed() {
        let sequence = ControlSequence::parse(b"\x1b[?2026;2$y").unwrap();
        assert_eq!(sequence.marker, Some(b'?'));
        assert_eq!(sequence.parameters.numbers().collect::<Vec<_>>(), [2026, 2]);
        assert_eq!(
            (sequence.intermediates, sequence.final_byte),
            (&b"$"[..], b'y')
        );

        let sequence = ControlSequence::parse(b"\x1b[97:65:99;2:3u").unwrap();
        assert_eq!(sequence.parameters.part(0, 2), Some(99));
        assert_eq!(sequence.parameters.part(1, 1), Some(3));
        assert_eq!(sequence.parameters.part(2, 0), None);
        assert!(sequence.is_plain());

        for malformed in [&b"\x1b["[..], b"\x1b[1", b"x", b"\x1b[1\x07A", b"\x1bOA"] {
            assert_eq!(ControlSequence::parse(malformed), None);
        }
        let huge = ControlSequence::parse(b"\x1b[99999999999999999999u").unwrap();
        assert_eq!(huge.parameters.get(0), None);
    }
}
