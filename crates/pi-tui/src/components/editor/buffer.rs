//! The text being edited: lines, the cursor, and the pastes its markers refer to.
//!
//! Lines are shared, so that an undo step does not copy the text and layout can detect unchanged
//! lines by address. Offsets are in bytes and always at the start of an atom.

use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::paste::{Pastes, marker_id, plain_text, renumber};

/// A position between two characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPosition {
    pub(crate) line: usize,
    pub(crate) offset: usize,
}

/// Where the cursor goes when the text is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorPlacement {
    Start,
    End,
}

/// Text with a cursor. A clone is an undo step.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    lines: Vec<Arc<str>>,
    pub(crate) cursor: TextPosition,
    pub(crate) pastes: Pastes,
}

impl Default for Buffer {
    fn default() -> Self {
        Self {
            lines: vec![Arc::from("")],
            cursor: TextPosition::default(),
            pastes: Pastes::default(),
        }
    }
}

impl Buffer {
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn lines(&self) -> &[Arc<str>] {
        &self.lines
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.lines.as_slice(), [only] if only.is_empty())
    }

    pub(crate) fn set_text(&mut self, text: &str, placement: CursorPlacement) {
        self.lines = plain_text(text).split('\n').map(Arc::from).collect();
        self.cursor = match placement {
            CursorPlacement::Start => TextPosition::default(),
            CursorPlacement::End => self.end(),
        };
    }

    fn end(&self) -> TextPosition {
        TextPosition {
            line: self.lines.len().saturating_sub(1),
            offset: self.lines.last().map_or(0, |line| line.len()),
        }
    }

    pub(crate) fn line(&self) -> &str {
        self.line_at(self.cursor.line)
    }

    pub(crate) fn line_at(&self, line: usize) -> &str {
        self.lines.get(line).map_or("", |line| line)
    }

    pub(crate) fn before_cursor(&self) -> &str {
        self.line().get(..self.cursor.offset).unwrap_or_default()
    }

    pub(crate) fn after_cursor(&self) -> &str {
        self.line().get(self.cursor.offset..).unwrap_or_default()
    }

    pub(crate) fn is_last_line(&self) -> bool {
        self.cursor.line + 1 >= self.lines.len()
    }

    /// Returns the markers of a line, which movement and deletion treat as one character.
    pub(crate) fn markers(&self, line: usize) -> Vec<Range<usize>> {
        self.pastes.markers(self.line_at(line))
    }

    /// Returns where the atom before the cursor starts, within the line.
    pub(crate) fn atom_start(&self) -> usize {
        let offset = self.cursor.offset;
        let markers = self.markers(self.cursor.line);
        if let Some(marker) = markers.iter().find(|marker| marker.end == offset) {
            return marker.start;
        }
        let length = self.before_cursor().graphemes(true).next_back();
        offset - length.map_or(0, str::len)
    }

    /// Returns where the atom after the cursor ends, within the line.
    pub(crate) fn atom_end(&self) -> usize {
        let offset = self.cursor.offset;
        let markers = self.markers(self.cursor.line);
        if let Some(marker) = markers.iter().find(|marker| marker.start == offset) {
            return marker.end;
        }
        let length = self.after_cursor().graphemes(true).next();
        offset + length.map_or(0, str::len)
    }

    /// Inserts plain text, possibly several lines, and moves the cursor after it.
    pub(crate) fn insert(&mut self, text: &str) {
        let before = self.before_cursor();
        let after = self.after_cursor();
        let inserted = match text.rsplit_once('\n') {
            None => {
                let line: Arc<str> = format!("{before}{text}{after}").into();
                self.cursor.offset += text.len();
                vec![line]
            }
            Some((_, last)) => {
                let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
                let tail: Arc<str> = format!("{last}{after}").into();
                let mut lines = vec![Arc::from(format!("{before}{first}"))];
                lines.extend(
                    rest.rsplit_once('\n')
                        .into_iter()
                        .flat_map(|(middle, _)| middle.split('\n').map(Arc::from)),
                );
                lines.push(tail);
                self.cursor.offset = last.len();
                lines
            }
        };
        let at = self.cursor.line;
        self.cursor.line += inserted.len() - 1;
        self.lines.splice(at..=at, inserted);
    }

    /// Removes a range of the cursor's line and moves the cursor there. Returns the removed text.
    pub(crate) fn remove(&mut self, range: Range<usize>) -> String {
        let line = self.line();
        let removed = line.get(range.clone()).unwrap_or_default().to_owned();
        let before = line.get(..range.start).unwrap_or_default();
        let after = line.get(range.end..).unwrap_or_default();
        let joined: Arc<str> = format!("{before}{after}").into();
        self.cursor.offset = range.start;
        self.replace_line(self.cursor.line, joined);
        removed
    }

    /// Joins the cursor's line with the next one; the cursor does not move.
    pub(crate) fn join_next(&mut self) {
        let next = self.cursor.line + 1;
        if next < self.lines.len() {
            let tail = self.lines.remove(next);
            let joined: Arc<str> = format!("{}{tail}", self.line()).into();
            self.replace_line(self.cursor.line, joined);
        }
    }

    /// Joins the cursor's line with the previous one; the cursor ends up between them.
    pub(crate) fn join_previous(&mut self) {
        if let Some(previous) = self.cursor.line.checked_sub(1) {
            self.cursor = TextPosition {
                line: previous,
                offset: self.line_at(previous).len(),
            };
            self.join_next();
        }
    }

    /// Removes the text between `start` and the cursor.
    pub(crate) fn remove_since(&mut self, start: TextPosition) {
        let after = self.after_cursor().to_owned();
        let before = self.line_at(start.line).get(..start.offset);
        let joined: Arc<str> = format!("{}{after}", before.unwrap_or_default()).into();
        self.lines.splice(start.line..=self.cursor.line, [joined]);
        self.cursor = start;
    }

    /// Removes the atom before the cursor. Removing a marker also removes its paste, unless another
    /// copy of the marker is left, and renumbers later markers.
    pub(crate) fn remove_atom_before(&mut self) {
        let start = self.atom_start();
        let removed = self.remove(start..self.cursor.offset);
        let Some(id) = marker_id(&removed) else {
            return;
        };
        if self.pastes.markers(&removed).is_empty()
            || self.lines.iter().any(|line| line.contains(&removed))
        {
            return;
        }
        self.pastes.forget(id);
        let before = renumber(self.before_cursor(), id).len();
        for line in &mut self.lines {
            if line.contains("[paste #") {
                *line = renumber(line, id).into();
            }
        }
        self.cursor.offset = before;
    }

    /// Replaces the cursor's line and moves the cursor within it.
    pub(crate) fn rewrite_line(&mut self, line: String, offset: usize) {
        self.cursor.offset = line.floor_char_boundary(offset);
        self.replace_line(self.cursor.line, line.into());
    }

    fn replace_line(&mut self, index: usize, line: Arc<str>) {
        if let Some(slot) = self.lines.get_mut(index) {
            *slot = line;
        }
    }
}
