//! Edits: typing, deleting, killing and yanking, pasting, undo, submitting.

use std::time::Instant;

use super::autocomplete::{ReplyOutcome, RequestReason};
use super::buffer::{Buffer, CursorPlacement};
use super::history::{HistoryStep, HistoryView};
use super::kill_ring::{EditDirection, KillMode};
use super::paste::{plain_paste, plain_text};
use super::undo::LastAction;
use super::{Editor, EditorEvent};
use crate::components::select_list::SelectItem;
use crate::components::word::{word_end_after, word_start_before};

impl Editor {
    /// Saves the state for undo.
    pub(super) fn snapshot(&mut self) {
        self.undo.push(self.buffer.clone());
    }

    /// Ends what consecutive keys may continue: typing a word, a kill, a yank, the sticky column.
    pub(super) fn interrupt(&mut self) {
        self.last = LastAction::Other;
        self.sticky.reset();
    }

    pub(super) fn type_character(&mut self, character: char, now: Instant) {
        self.history.stop_browsing();
        if self.last.starts_step(character) {
            self.snapshot();
        }
        self.last = LastAction::Typing;
        self.sticky.reset();
        self.buffer.insert(character.encode_utf8(&mut [0; 4]));
        self.changed();
        if self.autocomplete.popup.is_some() {
            self.autocomplete.update(&self.buffer, now);
        } else if self.autocomplete.is_triggered_by(character, &self.buffer) {
            self.autocomplete
                .request(RequestReason::Typing, &self.buffer, now);
        }
        self.apply_completion_reply();
    }

    pub(super) fn new_line(&mut self) {
        self.autocomplete.cancel();
        self.history.stop_browsing();
        self.interrupt();
        self.snapshot();
        self.buffer.insert("\n");
        self.changed();
    }

    pub(super) fn paste(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.autocomplete.cancel();
        self.history.stop_browsing();
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
        self.changed();
    }

    /// Deletes one character, or joins two lines.
    pub(super) fn delete(&mut self, direction: EditDirection, now: Instant) {
        self.history.stop_browsing();
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
            EditDirection::Backward | EditDirection::Forward => return,
        }
        self.changed();
        if self.autocomplete.popup.is_some() {
            self.autocomplete.update(&self.buffer, now);
        } else if self.autocomplete.is_completable(&self.buffer, true) {
            self.autocomplete
                .request(RequestReason::Typing, &self.buffer, now);
        }
        self.apply_completion_reply();
    }

    pub(super) fn kill_to_line_start(&mut self) {
        self.kill(0, self.buffer.cursor.offset, EditDirection::Backward);
    }

    pub(super) fn kill_to_line_end(&mut self) {
        let end = self.buffer.line().len();
        self.kill(self.buffer.cursor.offset, end, EditDirection::Forward);
    }

    pub(super) fn kill_word(&mut self, direction: EditDirection) {
        let cursor = self.buffer.cursor.offset;
        let markers = self.buffer.markers(self.buffer.cursor.line);
        let line = self.buffer.line();
        let (start, end) = match direction {
            EditDirection::Backward => (word_start_before(line, cursor, &markers), cursor),
            EditDirection::Forward => (cursor, word_end_after(line, cursor, &markers)),
        };
        self.kill(start, end, direction);
    }

    /// Deletes a part of the line into the kill ring; at an edge of the line, the line break.
    fn kill(&mut self, start: usize, end: usize, direction: EditDirection) {
        self.history.stop_browsing();
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
            return;
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
        self.autocomplete.cancel();
        self.changed();
    }

    pub(super) fn yank(&mut self) {
        let Some(text) = self.kill_ring.latest().map(str::to_owned) else {
            return;
        };
        self.snapshot();
        self.insert_yanked(&text);
    }

    pub(super) fn yank_pop(&mut self) {
        if self.last != LastAction::Yanking || self.kill_ring.len() < 2 {
            return;
        }
        self.snapshot();
        self.buffer.remove_since(self.yanked_at);
        self.kill_ring.rotate();
        let text = self.kill_ring.latest().unwrap_or_default().to_owned();
        self.insert_yanked(&text);
    }

    fn insert_yanked(&mut self, text: &str) {
        self.history.stop_browsing();
        self.yanked_at = self.buffer.cursor;
        self.buffer.insert(text);
        self.sticky.reset();
        self.last = LastAction::Yanking;
        self.changed();
    }

    pub(super) fn undo(&mut self) {
        self.history.stop_browsing();
        self.autocomplete.cancel();
        if let Some(state) = self.undo.pop() {
            self.buffer = state;
            self.interrupt();
            self.changed();
        }
    }

    pub(super) fn browse_history(&mut self, step: HistoryStep) {
        self.autocomplete.cancel();
        self.last = LastAction::Other;
        let entering = !self.history.is_browsing();
        let before = self.buffer.clone();
        match self.history.step(step, &self.buffer) {
            None => return,
            Some(HistoryView::Draft(draft)) => self.buffer = *draft,
            Some(HistoryView::Entry(text)) => {
                if entering {
                    self.undo.push(before);
                }
                let placement = match step {
                    HistoryStep::Older => CursorPlacement::Start,
                    HistoryStep::Newer => CursorPlacement::End,
                };
                self.buffer.set_text(&text, placement);
            }
        }
        self.sticky.reset();
        self.first_row = 0;
        self.changed();
    }

    /// Replaces the text and moves the cursor to its end. Undo restores the old text.
    pub fn set_text(&mut self, text: &str) {
        self.autocomplete.cancel();
        self.history.stop_browsing();
        self.interrupt();
        if self.buffer.text() != plain_text(text) {
            self.snapshot();
        }
        self.buffer = Buffer::default();
        self.buffer.set_text(text, CursorPlacement::End);
        self.first_row = 0;
        self.changed();
    }

    pub(super) fn submit(&mut self) {
        self.autocomplete.cancel();
        let text = self.buffer.pastes.expand(&self.buffer.text());
        self.buffer = Buffer::default();
        self.history.stop_browsing();
        self.undo.clear();
        self.interrupt();
        self.first_row = 0;
        self.changed();
        let text = text.trim().to_owned();
        self.handler.emit(EditorEvent::Submitted(text));
    }

    /// Inserts the selected completion and closes the popup.
    pub(super) fn accept_completion(&mut self) {
        let Some(popup) = self.autocomplete.popup.take() else {
            return;
        };
        if let Some(item) = popup.list.selected() {
            self.insert_completion(item, &popup.prefix);
        }
        self.autocomplete.cancel();
    }

    fn insert_completion(&mut self, item: &SelectItem, prefix: &str) {
        let Some(provider) = self.autocomplete.provider.clone() else {
            return;
        };
        self.snapshot();
        self.interrupt();
        let offset = self.buffer.cursor.offset;
        let completed = provider.complete(self.buffer.line(), offset, item, prefix);
        let line: String = plain_text(&completed.line).replace('\n', " ");
        self.buffer.rewrite_line(line, completed.offset);
        self.changed();
    }

    /// Applies a completion reply that has arrived.
    pub(super) fn apply_completion_reply(&mut self) {
        match self.autocomplete.apply_reply(&self.buffer) {
            ReplyOutcome::Nothing | ReplyOutcome::HistoryView => {}
            ReplyOutcome::Insert(item, prefix) => self.insert_completion(&item, &prefix),
        }
    }
}
