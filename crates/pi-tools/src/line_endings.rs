//! A file's text with plain newlines, and the way back to its bytes.
//!
//! Models write `\n`; files hold CRLF, lone CR, mixtures, and sometimes bytes that are no UTF-8. A
//! [`PlainText`] is the text a model would write, and remembers where every part of it stands in the
//! file, so that a replacement changes the bytes it means and no others.

use std::ops::Range;

/// The mark some editors put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A line break.
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

/// A replacement in a [`PlainText`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// Bytes of the plain text; on character boundaries.
    pub(crate) range: Range<usize>,
    /// What takes their place, with plain newlines.
    pub(crate) text: String,
}

/// A file's text with plain newlines and without byte order mark.
#[derive(Debug)]
pub(crate) struct PlainText<'a> {
    bytes: &'a [u8],
    text: String,
    /// Offsets from which text and bytes run side by side, ascending: (in the text, in the bytes).
    anchors: Vec<(usize, usize)>,
    /// Every line break, with its place in the text.
    breaks: Vec<(usize, LineBreak)>,
    /// Places in the text that stand for bytes that are no UTF-8.
    undecodable: Vec<usize>,
}

impl<'a> PlainText<'a> {
    /// Reads a file's bytes.
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
                // The newline of a CRLF that was just taken.
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

    /// Returns the text with plain newlines.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a part of the text stands for bytes that are no UTF-8.
    pub(crate) fn is_undecodable(&self, range: &Range<usize>) -> bool {
        let first = self
            .undecodable
            .partition_point(|place| *place < range.start);
        self.undecodable
            .get(first)
            .is_some_and(|place| *place < range.end)
    }

    /// Returns the file's bytes with the replacements made, which are ascending and do not overlap.
    ///
    /// A newline of the new text is written like the one it takes the place of, or else like the
    /// last one replaced, or else as the file does.
    pub(crate) fn splice(&self, replacements: &[Replacement]) -> Vec<u8> {
        let added: usize = replacements.iter().map(|edit| edit.text.len()).sum();
        let mut spliced = Vec::with_capacity(self.bytes.len() + added);
        let mut copied = 0;
        for Replacement { range, text } in replacements {
            let kept = copied..self.byte_offset(range.start);
            spliced.extend_from_slice(self.bytes.get(kept).unwrap_or_default());
            self.write_styled(text, range, &mut spliced);
            copied = self.byte_offset(range.end);
        }
        spliced.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        spliced
    }

    fn write_styled(&self, text: &str, replaced: &Range<usize>, output: &mut Vec<u8>) {
        let first = self
            .breaks
            .partition_point(|(place, _)| *place < replaced.start);
        let mut models = self
            .breaks
            .iter()
            .skip(first)
            .take_while(|(place, _)| *place < replaced.end)
            .map(|(_, line_break)| *line_break);
        let mut style = self.usual_break();
        let mut lines = text.split('\n');
        output.extend_from_slice(lines.next().unwrap_or_default().as_bytes());
        for line in lines {
            style = models.next().unwrap_or(style);
            output.extend_from_slice(style.text().as_bytes());
            output.extend_from_slice(line.as_bytes());
        }
    }

    /// How the file ends its lines: as its first newline does; lone CRs count where there is none.
    fn usual_break(&self) -> LineBreak {
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

/// Writes every line break as `\n`.
pub(crate) fn with_plain_newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Makes replacements in a text; they are ascending and do not overlap.
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
        let start = plain.text().find(old).expect("the text holds the old part");
        plain.splice(&[Replacement {
            range: start..start + old.len(),
            text: new.to_owned(),
        }])
    }

    #[test]
    fn breaks_and_marks_stay_as_they_are() {
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
    fn bytes_that_are_no_text_stay_as_they_are() {
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
        fn only_the_named_bytes_change(
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
