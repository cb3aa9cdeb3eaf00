//! Wraps logical lines into visual lines.
//!
//! Lines break after spaces and around CJK characters, otherwise anywhere between atoms. Only lines
//! that changed since the last layout are wrapped again.

use std::ops::Range;
use std::sync::Arc;

use super::buffer::{Buffer, TextPosition};
use crate::text::{grapheme_width, graphemes, is_cjk, visible_width};

/// A visual line: a part of a logical line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VisualLine {
    pub(crate) line: usize,
    pub(crate) range: Range<usize>,
    /// Whether the logical line ends here, in which case the cursor can be after the last
    /// character.
    pub(crate) ends_line: bool,
}

#[derive(Clone, Debug)]
struct LineLayout {
    text: Arc<str>,
    parts: Vec<Range<usize>>,
}

/// The visual lines of a buffer at a width.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditorLayout {
    width: usize,
    pastes: (usize, usize),
    lines: Vec<LineLayout>,
    /// The visual index each logical line starts at.
    starts: Vec<usize>,
    total: usize,
}

impl EditorLayout {
    /// Updates the layout for the buffer; unchanged lines are kept.
    pub(crate) fn update(&mut self, buffer: &Buffer, width: usize) {
        let pastes = buffer.pastes.signature();
        if self.width != width || self.pastes != pastes {
            self.lines.clear();
            self.width = width;
            self.pastes = pastes;
        }
        let new = buffer.lines();
        let same = |(old, new): &(&LineLayout, &Arc<str>)| Arc::ptr_eq(&old.text, new);
        let head = self.lines.iter().zip(new).take_while(same).count();
        if head == new.len() && head == self.lines.len() {
            return;
        }
        let spare = self.lines.len().min(new.len()) - head;
        let tail = self
            .lines
            .iter()
            .rev()
            .zip(new.iter().rev())
            .take(spare)
            .take_while(same)
            .count();
        let changed = new.get(head..new.len() - tail).unwrap_or_default();
        let laid_out: Vec<LineLayout> = changed
            .iter()
            .map(|text| LineLayout {
                text: Arc::clone(text),
                parts: break_line(text, width, &buffer.pastes.markers(text)),
            })
            .collect();
        let end = self.lines.len() - tail;
        self.lines.splice(head..end, laid_out);
        self.starts.clear();
        self.total = 0;
        for line in &self.lines {
            self.starts.push(self.total);
            self.total += line.parts.len();
        }
    }

    /// Returns the number of visual lines, at least one.
    pub(crate) fn len(&self) -> usize {
        self.total
    }

    pub(crate) fn get(&self, index: usize) -> Option<VisualLine> {
        let line = self
            .starts
            .partition_point(|start| *start <= index)
            .checked_sub(1)?;
        let parts = &self.lines.get(line)?.parts;
        let part = index - self.starts.get(line)?;
        Some(VisualLine {
            line,
            range: parts.get(part)?.clone(),
            ends_line: part + 1 == parts.len(),
        })
    }

    /// Returns the visual line that contains a position.
    pub(crate) fn index_of(&self, position: TextPosition) -> usize {
        let Some(line) = self.lines.get(position.line) else {
            return self.total.saturating_sub(1);
        };
        let start = self.starts.get(position.line).copied().unwrap_or(0);
        let part = line
            .parts
            .partition_point(|part| part.start <= position.offset);
        start + part.saturating_sub(1)
    }
}

/// A character, or a marker that acts as one.
pub(crate) struct Atom {
    pub(crate) range: Range<usize>,
    pub(crate) width: usize,
    is_marker: bool,
    is_space: bool,
    is_cjk: bool,
}

/// Returns the atoms of a text. `markers` are ranges in it, in order.
pub(crate) fn atoms<'a>(
    text: &'a str,
    markers: &'a [Range<usize>],
) -> impl Iterator<Item = Atom> + 'a {
    let mut markers = markers.iter().peekable();
    let mut offset = 0;
    graphemes(text).filter_map(move |grapheme| {
        let range = offset..offset + grapheme.len();
        offset = range.end;
        while markers
            .next_if(|marker| marker.end <= range.start)
            .is_some()
        {}
        match markers.peek() {
            Some(marker) if marker.start == range.start => Some(Atom {
                width: visible_width(text.get((*marker).clone()).unwrap_or_default()),
                range: (*marker).clone(),
                is_marker: true,
                is_space: false,
                is_cjk: false,
            }),
            Some(marker) if marker.contains(&range.start) => None,
            _ => Some(Atom {
                width: grapheme_width(grapheme),
                range,
                is_marker: false,
                is_space: grapheme.chars().all(char::is_whitespace),
                is_cjk: grapheme.chars().next().is_some_and(is_cjk),
            }),
        }
    })
}

/// Returns the parts of a line that each fit into `width` columns.
pub(crate) fn break_line(line: &str, width: usize, markers: &[Range<usize>]) -> Vec<Range<usize>> {
    let width = width.max(1);
    if line.len() <= width {
        return std::iter::once(0..line.len()).collect();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    let mut used = 0;
    // The last allowed break position, and the columns up to it.
    let mut last_break: Option<(usize, usize)> = None;
    let mut atoms = atoms(line, markers).peekable();
    while let Some(atom) = atoms.next() {
        if used + atom.width > width {
            match last_break.take() {
                Some((at, columns)) if used - columns + atom.width <= width => {
                    parts.push(start..at);
                    start = at;
                    used -= columns;
                }
                _ if start < atom.range.start => {
                    parts.push(start..atom.range.start);
                    start = atom.range.start;
                    used = 0;
                }
                _ => {}
            }
        }
        if atom.is_marker && atom.width > width {
            let text = line.get(atom.range.clone()).unwrap_or_default();
            let mut inner = break_line(text, width, &[]);
            let last = inner.pop().unwrap_or(0..0);
            let shift =
                |range: Range<usize>| atom.range.start + range.start..atom.range.start + range.end;
            used = visible_width(text.get(last.clone()).unwrap_or_default());
            parts.extend(inner.into_iter().map(shift));
            start = atom.range.start + last.start;
            last_break = None;
            continue;
        }
        used += atom.width;
        if let Some(next) = atoms.peek() {
            let after_space = atom.is_space && !next.is_space;
            let next_to_cjk = !atom.is_space && !next.is_space && (atom.is_cjk || next.is_cjk);
            if after_space || next_to_cjk {
                last_break = Some((next.range.start, used));
            }
        }
    }
    parts.push(start..line.len());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn parts<'a>(line: &'a str, width: usize, markers: &[Range<usize>]) -> Vec<&'a str> {
        break_line(line, width, markers)
            .into_iter()
            .map(|range| line.get(range).unwrap())
            .collect()
    }

    #[test]
    fn lines_break_after_spaces() {
        let cases: &[(&str, usize, &[&str])] = &[
            ("", 4, &[""]),
            ("abcd", 4, &["abcd"]),
            ("hello world", 7, &["hello ", "world"]),
            ("hello world", 5, &["hello", " ", "world"]),
            ("a  bcd", 4, &["a  ", "bcd"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("ab cdefgh", 4, &["ab ", "cdef", "gh"]),
            ("漢字かな", 4, &["漢字", "かな"]),
            ("ab漢字", 4, &["ab漢", "字"]),
            ("漢", 1, &["漢"]),
            ("a漢", 1, &["a", "漢"]),
            ("👨‍👩‍👧x👨‍👩‍👧", 3, &["👨‍👩‍👧x", "👨‍👩‍👧"]),
        ];
        for (line, width, expected) in cases {
            assert_eq!(&parts(line, *width, &[]), expected, "{line:?} in {width}");
        }
    }

    #[test]
    fn markers_are_split_only_if_necessary() {
        let line = "see [paste #1 +20 lines] x";
        let markers = std::slice::from_ref(&(4..24));
        assert_eq!(
            parts(line, 21, markers),
            ["see ", "[paste #1 +20 lines] ", "x"]
        );
        assert_eq!(
            parts(line, 10, markers),
            ["see ", "[paste #1 ", "+20 lines]", " x"]
        );
    }

    #[test]
    fn only_changed_lines_are_wrapped_again() {
        let mut buffer = Buffer::default();
        buffer.insert("one two\nthree\nfour");
        let mut layout = EditorLayout::default();
        layout.update(&buffer, 4);
        assert_eq!(layout.len(), 5);
        let kept = layout.lines.last().unwrap().parts.as_ptr();
        buffer.cursor = TextPosition { line: 0, offset: 0 };
        buffer.insert("zero\n");
        layout.update(&buffer, 4);
        assert_eq!(layout.len(), 6);
        assert_eq!(layout.lines.last().unwrap().parts.as_ptr(), kept);
        assert_eq!(
            layout.index_of(TextPosition { line: 1, offset: 4 }),
            2,
            "a position at a break belongs to the line after it"
        );
    }
}
