//! Cursor movement that depends on other editor state: history at the edges, an open popup.

use std::time::Instant;

use super::Editor;
use super::buffer::TextPosition;
use super::cursor::offset_at;
use super::history::HistoryStep;
use super::kill_ring::EditDirection;
use super::undo::LastAction;
use crate::components::word::{word_end_after, word_start_before};
use crate::input::MouseEvent;

impl Editor {
    pub(super) fn update_layout(&mut self) {
        self.layout.update(&self.buffer, self.layout_width);
    }

    /// Returns the maximum number of text rows: 30 % of the terminal, at least five.
    pub(super) fn max_rows(&self) -> usize {
        (self.rows * 3 / 10).max(5)
    }

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

    pub(super) fn move_atom(&mut self, direction: EditDirection, now: Instant) {
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
        self.update_popup(now);
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

    pub(super) fn move_up(&mut self, now: Instant) {
        self.update_layout();
        let current = self.layout.index_of(self.buffer.cursor);
        let browses =
            self.buffer.is_empty() || self.history.is_browsing() || self.buffer.cursor.offset == 0;
        match current.checked_sub(1) {
            None if browses => self.browse_history(HistoryStep::Older),
            None => self.move_within_line(0),
            Some(target) => self.move_to_row(current, target, now),
        }
    }

    pub(super) fn move_down(&mut self, now: Instant) {
        self.update_layout();
        let current = self.layout.index_of(self.buffer.cursor);
        let last = current + 1 >= self.layout.len();
        if last && self.history.is_browsing() {
            self.browse_history(HistoryStep::Newer);
        } else if last {
            self.move_within_line(self.buffer.line().len());
        } else {
            self.move_to_row(current, current + 1, now);
        }
    }

    pub(super) fn move_page(&mut self, direction: EditDirection) {
        self.update_layout();
        self.last = LastAction::Other;
        let current = self.layout.index_of(self.buffer.cursor);
        let page = self.max_rows();
        let target = match direction {
            EditDirection::Backward => current.saturating_sub(page),
            EditDirection::Forward => (current + page).min(self.layout.len().saturating_sub(1)),
        };
        self.sticky
            .move_to_line(&mut self.buffer, &self.layout, current, target);
    }

    fn move_to_row(&mut self, from: usize, target: usize, now: Instant) {
        self.last = LastAction::Other;
        self.sticky
            .move_to_line(&mut self.buffer, &self.layout, from, target);
        self.update_popup(now);
    }

    /// Updates an open popup after the text before the cursor changed.
    fn update_popup(&mut self, now: Instant) {
        self.autocomplete.update(&self.buffer, now);
        self.apply_completion_reply();
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

    /// Moves the cursor to the clicked position.
    pub(super) fn click(&mut self, event: &MouseEvent, padding: usize, now: Instant) {
        let Some(row) = event
            .row
            .checked_sub(1)
            .filter(|row| *row < self.visible_rows)
        else {
            return;
        };
        self.update_layout();
        if let Some(line) = self.layout.get(self.first_row + row) {
            let column = event.column.saturating_sub(padding);
            let offset = offset_at(&self.buffer, &line, column);
            self.buffer.cursor = TextPosition {
                line: line.line,
                offset,
            };
            self.interrupt();
            self.history.stop_browsing();
            self.update_popup(now);
        }
    }
}
