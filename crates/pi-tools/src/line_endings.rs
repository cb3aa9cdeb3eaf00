//! Text with normalized newlines, mapped back to the bytes of a file. Models write `\n`; files
//! contain CRLF, CR, mixtures, and sometimes invalid UTF-8. A [`PlainText`] has only `\n` and
//! records the position of every part in the file, so that a replacement changes only the bytes it
//! covers.

use std::ops::Range;

/// UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineBreak {
    Lf,
    CrLf,
    Cr,
}

impl LineBreak {
    fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// Byte range in the plain text, on character boundaries.
    pub(crate) range: Range<usize>,
    /// Replacement text, with `\n` newlines.
    pub(crate) text: String,
}

/// The text of a file with `\n` newlines and without byte order mark.
#[derive(Debug)]
pub(crate) struct PlainText<'a> {
    bytes: &'a [u8],
    text: String,
    /// Offsets where text and bytes run in parallel, ascending: (in the text, in the bytes).
    anchors: Vec<(usize, usize)>,
    /// Every line break, with its offset in the text.
    breaks: Vec<(usize, LineBreak)>,
    /// Offsets in the text of replacement characters for invalid UTF-8.
    undecodable: Vec<usize>,
}

impl<'a> PlainText<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let start = if bytes.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        let mut plain = Self {
            bytes,
            text: String::with_capacity(bytes.len()),
            anchors: vec![(0, start)],
            breaks: Vec::new(),
            undecodable: Vec::new(),
        };
        let mut offset = start;
        for chunk in bytes.get(start..).unwrap_or_default().utf8_chunks() {
            plain.append(chunk.valid(), offset);
            offset += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                plain.undecodable.push(plain.text.len());
                plain.text.push(char::REPLACEMENT_CHARACTER);
                offset += chunk.invalid().len();
                plain.anchors.push((plain.text.len(), offset));
            }
        }
        plain
    }

    fn append(&mut self, valid: &str, offset: usize) {
        let bytes = valid.as_bytes();
        let mut copied = 0;
        for at in memchr::memchr2_iter(b'\r', b'\n', bytes) {
            if at < copied {
                // The newline of a CRLF that was already handled.
                continue;
            }
            self.text
                .push_str(valid.get(copied..at).unwrap_or_default());
            let line_break = match (bytes.get(at), bytes.get(at + 1)) {
                (Some(b'\r'), Some(b'\n')) => LineBreak::CrLf,
                (Some(b'\r'), _) => LineBreak::Cr,
                _ => LineBreak::Lf,
            };
            self.breaks.push((self.text.len(), line_break));
            self.text.push('\n');
            copied = at + line_break.text().len();
            if line_break == LineBreak::CrLf {
                self.anchors.push((self.text.len(), offset + copied));
            }
        }
        self.text.push_str(valid.get(copied..).unwrap_or_default());
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a range of the text contains invalid UTF-8.
    pub(crate) fn is_undecodable(&self, range: &Range<usize>) -> bool {
        let first = self
            .undecodable
            .partition_point(|offset| *offset < range.start);
        self.undecodable
            .get(first)
            .is_some_and(|offset| *offset < range.end)
    }

    /// Returns the bytes of the file with the replacements applied, which must be sorted and not
    /// overlap.
    ///
    /// A newline in the new text is written like the line break it replaces, otherwise like the
    /// last one replaced, otherwise like the dominant line break of the file.
    pub(crate) fn splice(&self, replacements: &[Replacement]) -> Vec<u8> {
        let added: usize = replacements.iter().map(|edit| edit.text.len()).sum();
        let mut spliced = Vec::with_capacity(self.bytes.len() + added);
        let mut copied = 0;
        for Replacement { range, text } in replacements {
            let kept = copied..self.byte_offset(range.start);
            spliced.extend_from_slice(self.bytes.get(kept).unwrap_or_default());
            self.write_with_breaks(text, range, &mut spliced);
            copied = self.byte_offset(range.end);
        }
        spliced.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        spliced
    }

    fn write_with_breaks(&self, text: &str, replaced: &Range<usize>, output: &mut Vec<u8>) {
        let first = self
            .breaks
            .partition_point(|(offset, _)| *offset < replaced.start);
        let mut replaced_breaks = self
            .breaks
            .iter()
            .skip(first)
            .take_while(|(offset, _)| *offset < replaced.end)
            .map(|(_, line_break)| *line_break);
        let mut current = self.dominant_break();
        let mut lines = text.split('\n');
        output.extend_from_slice(lines.next().unwrap_or_default().as_bytes());
        for line in lines {
            current = replaced_breaks.next().unwrap_or(current);
            output.extend_from_slice(current.text().as_bytes());
            output.extend_from_slice(line.as_bytes());
        }
    }

    /// The line break of the file: its first LF or CRLF, otherwise CR.
    fn dominant_break(&self) -> LineBreak {
        let breaks = || self.breaks.iter().map(|(_, line_break)| *line_break);
        breaks()
            .find(|line_break| *line_break != LineBreak::Cr)
            .or_else(|| breaks().next())
            .unwrap_or(LineBreak::Lf)
    }

    fn byte_offset(&self, text_offset: usize) -> usize {
        let after = self
            .anchors
            .partition_point(|(text, _)| *text <= text_offset);
        let (text, bytes) = after
            .checked_sub(1)
            .and_then(|index| self.anchors.get(index))
            .copied()
            .unwrap_or_default();
        bytes + (text_offset - text)
    }
}

/// Converts every line break to `\n`.
pub(crate) fn with_plain_newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Applies replacements to a text; they must be sorted and not overlap.
pub(crate) fn replace_ranges(text: &str, replacements: &[Replacement]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    for replacement in replacements {
        let kept = text.get(copied..replacement.range.start);
        replaced.push_str(kept.unwrap_or_default());
        replaced.push_str(&replacement.text);
        copied = replacement.range.end;
    }
    replaced.push_str(text.get(copied..).unwrap_or_default());
    replaced
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn edit(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
        let plain = PlainText::read(bytes);
        let start = plain
            .text()
            .find(old)
            .expect("the text contains the old text");
        plain.splice(&[Replacement {
            range: start..start + old.len(),
            text: new.to_owned(),
        }])
    }

    #[test]
    fn line_breaks_and_byte_order_marks_are_preserved() {
        for (bytes, old, new, expected) in [
            ("a\nb\n", "b", "B", "a\nB\n"),
            ("a\r\nb\r\n", "b", "B\nC", "a\r\nB\r\nC\r\n"),
            ("a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n"),
            ("a\r\nb\nc\r\n", "b\n", "B\nC\n", "a\r\nB\nC\nc\r\n"),
            ("a\rb\rc", "b", "B", "a\rB\rc"),
            ("a\rb\rc", "b", "B\nb", "a\rB\rb\rc"),
            ("50%\r100%\nend\n", "end", "e\nn", "50%\r100%\ne\nn\n"),
            ("a\r\nb", "a\nb", "x\ny\nz", "x\r\ny\r\nz"),
            ("\u{feff}a\r\nb", "a", "A", "\u{feff}A\r\nb"),
            ("\u{feff}\u{feff}a", "a", "A", "\u{feff}\u{feff}A"),
            ("ab", "b", "\n", "a\n"),
        ] {
            let edited = edit(bytes.as_bytes(), old, new);
            assert_eq!(String::from_utf8(edited).unwrap(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn invalid_utf8_is_preserved() {
        assert_eq!(
            edit(b"caf\xe9\r\nb\xff\xfec\r\nd", "d", "D"),
            b"caf\xe9\r\nb\xff\xfec\r\nD"
        );
        assert_eq!(edit(b"\xe9b", "b", "B"), b"\xe9B");
        let plain = PlainText::read(b"a\xe9b");
        assert!(plain.is_undecodable(&(0..2)));
        assert!(!plain.is_undecodable(&(0..1)));
        assert!(!plain.is_undecodable(&(4..5)));
    }

    proptest! {
        #[test]
        fn only_the_replaced_bytes_change(
            before in proptest::collection::vec(prop_oneof!["[a日\r\n]{0,4}".prop_map(String::into_bytes), Just(vec![0xff]), Just(vec![0xe6, 0x97])], 0..6),
            after in proptest::collection::vec(prop_oneof!["[a日\r\n]{0,4}".prop_map(String::into_bytes), Just(vec![0xff])], 0..6),
        ) {
            let (before, after) = (before.concat(), after.concat());
            let bytes = [&before[..], b"MARK", &after[..]].concat();
            prop_assert_eq!(edit(&bytes, "MARK", "new"), [&before[..], b"new", &after[..]].concat());
            prop_assert_eq!(edit(&bytes, "MARK", "MARK"), bytes);
        }
    }
}
