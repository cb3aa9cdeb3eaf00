//! Cursor movement.

use super::buffer::TextPosition;
use super::cursor::offset_at;
use super::editable::EditableText;
use super::kill_ring::EditDirection;
use super::undo::LastAction;
use crate::components::word::{word_end_after, word_start_before};

impl EditableText {
    pub(super) fn move_within_line(&mut self, offset: usize) {
        self.interrupt();
        self.buffer.cursor.offset = offset;
    }

    pub(super) fn move_word(&mut self, direction: EditDirection) {
        self.interrupt();
        let TextPosition { line, offset } = self.buffer.cursor;
        let text = self.buffer.line();
        let markers = self.buffer.markers(line);
        match direction {
            EditDirection::Backward if offset == 0 => self.move_to_previous_line_end(),
            EditDirection::Backward => {
                self.buffer.cursor.offset = word_start_before(text, offset, &markers);
            }
            EditDirection::Forward if offset >= text.len() => self.move_to_next_line_start(),
            EditDirection::Forward => {
                self.buffer.cursor.offset = word_end_after(text, offset, &markers);
            }
        }
    }

    pub(super) fn move_atom(&mut self, direction: EditDirection) {
        self.interrupt();
        let offset = self.buffer.cursor.offset;
        match direction {
            EditDirection::Backward if offset == 0 => self.move_to_previous_line_end(),
            EditDirection::Backward => self.buffer.cursor.offset = self.buffer.atom_start(),
            EditDirection::Forward if self.buffer.after_cursor().is_empty() => {
                self.move_to_next_line_start();
            }
            EditDirection::Forward => self.buffer.cursor.offset = self.buffer.atom_end(),
        }
    }

    fn move_to_previous_line_end(&mut self) {
        if let Some(line) = self.buffer.cursor.line.checked_sub(1) {
            self.buffer.cursor = TextPosition {
                line,
                offset: self.buffer.line_at(line).len(),
            };
        }
    }

    fn move_to_next_line_start(&mut self) {
        if !self.buffer.is_last_line() {
            self.buffer.cursor = TextPosition {
                line: self.buffer.cursor.line + 1,
                offset: 0,
            };
        }
    }

    /// Moves by a number of visual lines, as far as there are any.
    pub(super) fn move_page(&mut self, direction: EditDirection, rows: usize) {
        self.update_layout();
        let current = self.cursor_row();
        let target = match direction {
            EditDirection::Backward => current.saturating_sub(rows),
            EditDirection::Forward => (current + rows).min(self.layout.len().saturating_sub(1)),
        };
        self.move_to_row(current, target);
    }

    /// Moves to a visual line, in the column where vertical movement started.
    pub(super) fn move_to_row(&mut self, from: usize, target: usize) {
        self.last = LastAction::Other;
        self.sticky
            .move_to_line(&mut self.buffer, &self.layout, from, target);
    }

    /// Moves to a column of a visual line. Returns whether there is such a line.
    pub(super) fn move_to_cell(&mut self, row: usize, column: usize) -> bool {
        self.update_layout();
        let Some(line) = self.layout.get(row) else {
            return false;
        };
        let offset = offset_at(&self.buffer, &line, column);
        self.buffer.cursor = TextPosition {
            line: line.line,
            offset,
        };
        self.interrupt();
        true
    }

    /// Moves to the next or previous `character` in any line, excluding the one at the cursor.
    pub(super) fn jump_to(&mut self, character: char, direction: EditDirection) {
        self.interrupt();
        let cursor = self.buffer.cursor;
        let lines = self.buffer.lines();
        let found = match direction {
            EditDirection::Forward => {
                let skipped = self.buffer.after_cursor().chars().next();
                let from = cursor.offset + skipped.map_or(0, char::len_utf8);
                (cursor.line..lines.len()).find_map(|line| {
                    let start = if line == cursor.line { from } else { 0 };
                    let text = lines.get(line)?.get(start..)?;
                    let offset = start + text.find(character)?;
                    Some(TextPosition { line, offset })
                })
            }
            EditDirection::Backward => (0..=cursor.line).rev().find_map(|line| {
                let text = lines.get(line)?;
                let end = if line == cursor.line {
                    cursor.offset
                } else {
                    text.len()
                };
                let offset = text.get(..end)?.rfind(character)?;
                Some(TextPosition { line, offset })
            }),
        };
        if let Some(position) = found {
            self.buffer.cursor = position;
            self.leave_marker();
        }
    }

    /// Moves the cursor to the start of a marker it may have landed in.
    fn leave_marker(&mut self) {
        let TextPosition { line, offset } = self.buffer.cursor;
        let markers = self.buffer.markers(line);
        if let Some(marker) = markers.iter().find(|it| it.contains(&offset)) {
            self.buffer.cursor.offset = marker.start;
        }
    }
}
