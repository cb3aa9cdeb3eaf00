//! Changes to the text: typing, deleting, killing and yanking, pasting, undo, submitting.

use std::time::Instant;

use super::autocomplete::{Asking, Settled};
use super::buffer::{Buffer, Placement};
use super::history::{Shown, Step};
use super::kill_ring::{Direction, Kill};
use super::paste::{plain_paste, plain_text};
use super::undo::LastAction;
use super::{Editor, EditorEvent};
use crate::components::select_list::SelectItem;
use crate::components::word::{word_end_after, word_start_before};

impl Editor {
    /// Remembers the state, to come back to with undo.
    pub(super) fn snapshot(&mut self) {
        self.undo.push(self.buffer.clone());
    }

    /// Ends what consecutive keys may continue: typing a word, a kill, a yank, the wanted column.
    pub(super) fn interrupt(&mut self) {
        self.last = LastAction::Other;
        self.sticky.reset();
    }

    pub(super) fn type_character(&mut self, character: char, now: Instant) {
        self.history.leave();
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
            self.autocomplete.ask(Asking::Typing, &self.buffer, now);
        }
        self.settle_completion();
    }

    pub(super) fn new_line(&mut self) {
        self.autocomplete.cancel();
        self.history.leave();
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
        self.history.leave();
        self.interrupt();
        self.snapshot();
        let mut text = plain_paste(text);
        let before = self.buffer.before_cursor().chars().next_back();
        let joins_word = before.is_some_and(|it| it.is_ascii_alphanumeric() || it == '_');
        // A dropped file arrives as a path; it must not stick to the word before.
        if text.starts_with(['/', '~', '.']) && joins_word {
            text.insert(0, ' ');
        }
        let inserted = self.buffer.pastes.take_in(text);
        self.buffer.insert(&inserted);
        self.changed();
    }

    /// Deletes one character, or joins two lines.
    pub(super) fn delete(&mut self, direction: Direction, now: Instant) {
        self.history.leave();
        self.interrupt();
        let at_start = self.buffer.cursor.offset == 0;
        match direction {
            Direction::Backward if !at_start => {
                self.snapshot();
                self.buffer.remove_atom_before();
            }
            Direction::Backward if self.buffer.cursor.line > 0 => {
                self.snapshot();
                self.buffer.join_previous();
            }
            Direction::Forward if !self.buffer.after_cursor().is_empty() => {
                self.snapshot();
                let start = self.buffer.cursor.offset;
                self.buffer.remove(start..self.buffer.atom_end());
            }
            Direction::Forward if !self.buffer.is_last_line() => {
                self.snapshot();
                self.buffer.join_next();
            }
            Direction::Backward | Direction::Forward => return,
        }
        self.changed();
        if self.autocomplete.popup.is_some() {
            self.autocomplete.update(&self.buffer, now);
        } else if self.autocomplete.is_completable(&self.buffer, true) {
            self.autocomplete.ask(Asking::Typing, &self.buffer, now);
        }
        self.settle_completion();
    }

    pub(super) fn kill_to_line_start(&mut self) {
        self.kill(0, self.buffer.cursor.offset, Direction::Backward);
    }

    pub(super) fn kill_to_line_end(&mut self) {
        let end = self.buffer.line().len();
        self.kill(self.buffer.cursor.offset, end, Direction::Forward);
    }

    pub(super) fn kill_word(&mut self, direction: Direction) {
        let cursor = self.buffer.cursor.offset;
        let markers = self.buffer.markers(self.buffer.cursor.line);
        let line = self.buffer.line();
        let (start, end) = match direction {
            Direction::Backward => (word_start_before(line, cursor, &markers), cursor),
            Direction::Forward => (cursor, word_end_after(line, cursor, &markers)),
        };
        self.kill(start, end, direction);
    }

    /// Deletes a part of the line into the kill ring; at an edge of the line, its end.
    fn kill(&mut self, start: usize, end: usize, direction: Direction) {
        self.history.leave();
        let kill = if self.last == LastAction::Killing {
            Kill::Continued
        } else {
            Kill::New
        };
        let at_edge = start == end;
        let joins = match direction {
            Direction::Backward => self.buffer.cursor.line > 0,
            Direction::Forward => !self.buffer.is_last_line(),
        };
        if at_edge && !joins {
            return;
        }
        self.snapshot();
        let killed = if at_edge {
            match direction {
                Direction::Backward => self.buffer.join_previous(),
                Direction::Forward => self.buffer.join_next(),
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
        self.history.leave();
        self.yanked_at = self.buffer.cursor;
        self.buffer.insert(text);
        self.sticky.reset();
        self.last = LastAction::Yanking;
        self.changed();
    }

    pub(super) fn undo(&mut self) {
        self.history.leave();
        self.autocomplete.cancel();
        if let Some(state) = self.undo.pop() {
            self.buffer = state;
            self.interrupt();
            self.changed();
        }
    }

    pub(super) fn browse_history(&mut self, step: Step) {
        self.autocomplete.cancel();
        self.last = LastAction::Other;
        let entering = !self.history.is_browsing();
        let before = self.buffer.clone();
        match self.history.step(step, &self.buffer) {
            None => return,
            Some(Shown::Draft(draft)) => self.buffer = *draft,
            Some(Shown::Entry(text)) => {
                if entering {
                    self.undo.push(before);
                }
                let placement = match step {
                    Step::Older => Placement::Start,
                    Step::Newer => Placement::End,
                };
                self.buffer.set_text(&text, placement);
            }
        }
        self.sticky.reset();
        self.first_row = 0;
        self.changed();
    }

    /// Replaces the whole text and puts the cursor at its end; undo brings the old one back.
    pub fn set_text(&mut self, text: &str) {
        self.autocomplete.cancel();
        self.history.leave();
        self.interrupt();
        if self.buffer.text() != plain_text(text) {
            self.snapshot();
        }
        self.buffer = Buffer::default();
        self.buffer.set_text(text, Placement::End);
        self.first_row = 0;
        self.changed();
    }

    pub(super) fn submit(&mut self) {
        self.autocomplete.cancel();
        let text = self.buffer.pastes.expand(&self.buffer.text());
        self.buffer = Buffer::default();
        self.history.leave();
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

    /// Takes a completion answer that has arrived.
    pub(super) fn settle_completion(&mut self) {
        match self.autocomplete.settle(&self.buffer) {
            Settled::Nothing | Settled::Shown => {}
            Settled::Insert(item, prefix) => self.insert_completion(&item, &prefix),
        }
    }
}
