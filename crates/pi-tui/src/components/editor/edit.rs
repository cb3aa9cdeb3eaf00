//! Edits of the text: typing, deleting, killing and yanking, pasting, undo.
//!
//! Methods that may change nothing return whether they did.

use super::buffer::{Buffer, CursorPlacement};
use super::editable::EditableText;
use super::history::HistoryView;
use super::kill_ring::{EditDirection, KillMode};
use super::paste::{plain_paste, plain_text};
use super::undo::LastAction;
use crate::components::word::{word_end_after, word_start_before};

impl EditableText {
    /// Saves the state for undo.
    fn snapshot(&mut self) {
        self.undo.push(self.buffer.clone());
    }

    /// Ends what consecutive keys may continue: typing a word, a kill, a yank, the sticky column.
    pub(super) fn interrupt(&mut self) {
        self.last = LastAction::Other;
        self.sticky.reset();
    }

    pub(super) fn type_character(&mut self, character: char) {
        if self.last.starts_step(character) {
            self.snapshot();
        }
        self.last = LastAction::Typing;
        self.sticky.reset();
        self.buffer.insert(character.encode_utf8(&mut [0; 4]));
    }

    /// Inserts text at the cursor as one undo step.
    pub(super) fn insert(&mut self, text: &str) {
        self.interrupt();
        self.snapshot();
        self.buffer.insert(text);
    }

    pub(super) fn new_line(&mut self) -> bool {
        self.insert("\n");
        true
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.interrupt();
        self.snapshot();
        let mut text = plain_paste(text);
        let before = self.buffer.before_cursor().chars().next_back();
        let joins_word = before.is_some_and(|it| it.is_ascii_alphanumeric() || it == '_');
        // A dropped file arrives as a path, which must be separated from the preceding word.
        if text.starts_with(['/', '~', '.']) && joins_word {
            text.insert(0, ' ');
        }
        let inserted = self.buffer.pastes.store(text);
        self.buffer.insert(&inserted);
    }

    /// Deletes one character, or joins two lines.
    pub(super) fn delete(&mut self, direction: EditDirection) -> bool {
        self.interrupt();
        let at_start = self.buffer.cursor.offset == 0;
        match direction {
            EditDirection::Backward if !at_start => {
                self.snapshot();
                self.buffer.remove_atom_before();
            }
            EditDirection::Backward if self.buffer.cursor.line > 0 => {
                self.snapshot();
                self.buffer.join_previous();
            }
            EditDirection::Forward if !self.buffer.after_cursor().is_empty() => {
                self.snapshot();
                let start = self.buffer.cursor.offset;
                self.buffer.remove(start..self.buffer.atom_end());
            }
            EditDirection::Forward if !self.buffer.is_last_line() => {
                self.snapshot();
                self.buffer.join_next();
            }
            EditDirection::Backward | EditDirection::Forward => return false,
        }
        true
    }

    /// Deletes the backslash before the cursor.
    pub(super) fn delete_backslash(&mut self) {
        self.snapshot();
        let end = self.buffer.cursor.offset;
        self.buffer.remove(end.saturating_sub(1)..end);
    }

    pub(super) fn kill_to_line_start(&mut self) -> bool {
        self.kill(0, self.buffer.cursor.offset, EditDirection::Backward)
    }

    pub(super) fn kill_to_line_end(&mut self) -> bool {
        let end = self.buffer.line().len();
        self.kill(self.buffer.cursor.offset, end, EditDirection::Forward)
    }

    pub(super) fn kill_word(&mut self, direction: EditDirection) -> bool {
        let cursor = self.buffer.cursor.offset;
        let markers = self.buffer.markers(self.buffer.cursor.line);
        let line = self.buffer.line();
        let (start, end) = match direction {
            EditDirection::Backward => (word_start_before(line, cursor, &markers), cursor),
            EditDirection::Forward => (cursor, word_end_after(line, cursor, &markers)),
        };
        self.kill(start, end, direction)
    }

    /// Deletes a part of the line into the kill ring; at an edge of the line, the line break.
    fn kill(&mut self, start: usize, end: usize, direction: EditDirection) -> bool {
        let kill = if self.last == LastAction::Killing {
            KillMode::Continued
        } else {
            KillMode::New
        };
        let at_edge = start == end;
        let joins = match direction {
            EditDirection::Backward => self.buffer.cursor.line > 0,
            EditDirection::Forward => !self.buffer.is_last_line(),
        };
        if at_edge && !joins {
            return false;
        }
        self.snapshot();
        let killed = if at_edge {
            match direction {
                EditDirection::Backward => self.buffer.join_previous(),
                EditDirection::Forward => self.buffer.join_next(),
            }
            "\n".to_owned()
        } else {
            self.buffer.remove(start..end)
        };
        self.kill_ring.push(&killed, direction, kill);
        self.last = LastAction::Killing;
        self.sticky.reset();
        true
    }

    pub(super) fn yank(&mut self) -> bool {
        let Some(text) = self.kill_ring.latest().map(str::to_owned) else {
            return false;
        };
        self.snapshot();
        self.insert_yanked(&text);
        true
    }

    /// Replaces the yanked text with the previous entry of the kill ring.
    pub(super) fn yank_pop(&mut self) -> bool {
        if self.last != LastAction::Yanking || self.kill_ring.len() < 2 {
            return false;
        }
        self.snapshot();
        self.buffer.remove_since(self.yanked_at);
        self.kill_ring.rotate();
        let text = self.kill_ring.latest().unwrap_or_default().to_owned();
        self.insert_yanked(&text);
        true
    }

    fn insert_yanked(&mut self, text: &str) {
        self.yanked_at = self.buffer.cursor;
        self.buffer.insert(text);
        self.sticky.reset();
        self.last = LastAction::Yanking;
    }

    pub(super) fn undo(&mut self) -> bool {
        let Some(state) = self.undo.pop() else {
            return false;
        };
        self.buffer = state;
        self.interrupt();
        true
    }

    /// Replaces the text and moves the cursor to its end. Undo restores the old text.
    pub(super) fn replace(&mut self, text: &str) {
        self.interrupt();
        if self.buffer.text() != plain_text(text) {
            self.snapshot();
        }
        self.buffer = Buffer::default();
        self.buffer.set_text(text, CursorPlacement::End);
    }

    /// Shows a prompt of the history. Undo returns to the draft from which browsing started.
    pub(super) fn show_history(
        &mut self,
        view: HistoryView,
        placement: CursorPlacement,
        is_first: bool,
    ) {
        match view {
            HistoryView::Draft(draft) => self.buffer = *draft,
            HistoryView::Entry(text) => {
                if is_first {
                    self.snapshot();
                }
                self.buffer.set_text(&text, placement);
            }
        }
        self.sticky.reset();
    }

    /// Replaces the line of the cursor.
    pub(super) fn rewrite_line(&mut self, line: &str, offset: usize) {
        self.snapshot();
        self.interrupt();
        let line = plain_text(line).replace('\n', " ");
        self.buffer.rewrite_line(line, offset);
    }

    /// Removes the text and its undo steps. Returns it with large pastes expanded.
    pub(super) fn take(&mut self) -> String {
        let text = self.expanded();
        self.buffer = Buffer::default();
        self.undo.clear();
        self.interrupt();
        text
    }
}
