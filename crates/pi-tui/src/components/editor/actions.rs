//! Actions of the editor that involve more than the text: the history, an open popup, the owner.

use std::time::Instant;

use super::autocomplete::{ReplyOutcome, RequestReason};
use super::buffer::CursorPlacement;
use super::editable::EditableText;
use super::history::HistoryStep;
use super::kill_ring::EditDirection;
use super::undo::LastAction;
use super::{Editor, EditorEvent};
use crate::components::select_list::SelectItem;
use crate::input::MouseEvent;

impl Editor {
    /// Changes the text. A change closes the popup; `edit` returns whether there was one.
    pub(super) fn edit(&mut self, edit: impl FnOnce(&mut EditableText) -> bool) {
        self.history.stop_browsing();
        if edit(&mut self.text) {
            self.autocomplete.cancel();
            self.handler.emit(EditorEvent::Changed);
        }
    }

    pub(super) fn type_character(&mut self, character: char, now: Instant) {
        self.history.stop_browsing();
        self.text.type_character(character);
        self.handler.emit(EditorEvent::Changed);
        let buffer = &self.text.buffer;
        if self.autocomplete.popup.is_some() {
            self.autocomplete.update(buffer, now);
        } else if self.autocomplete.is_triggered_by(character, buffer) {
            self.autocomplete
                .request(RequestReason::Typing, buffer, now);
        }
        self.apply_completion_reply();
    }

    /// Deletes one character, or joins two lines.
    pub(super) fn delete(&mut self, direction: EditDirection, now: Instant) {
        self.history.stop_browsing();
        if !self.text.delete(direction) {
            return;
        }
        self.handler.emit(EditorEvent::Changed);
        let buffer = &self.text.buffer;
        if self.autocomplete.popup.is_some() {
            self.autocomplete.update(buffer, now);
        } else if self.autocomplete.is_completable(buffer, true) {
            self.autocomplete
                .request(RequestReason::Typing, buffer, now);
        }
        self.apply_completion_reply();
    }

    /// Inserts text of the kill ring. An open popup stays as it is.
    pub(super) fn yank(&mut self, yank: impl FnOnce(&mut EditableText) -> bool) {
        if yank(&mut self.text) {
            self.history.stop_browsing();
            self.handler.emit(EditorEvent::Changed);
        }
    }

    pub(super) fn browse_history(&mut self, step: HistoryStep) {
        self.autocomplete.cancel();
        self.text.last = LastAction::Other;
        let is_first = !self.history.is_browsing();
        let Some(view) = self.history.step(step, &self.text.buffer) else {
            return;
        };
        let placement = match step {
            HistoryStep::Older => CursorPlacement::Start,
            HistoryStep::Newer => CursorPlacement::End,
        };
        self.text.show_history(view, placement, is_first);
        self.view.first_row = 0;
        self.handler.emit(EditorEvent::Changed);
    }

    /// Replaces the text and moves the cursor to its end. Undo restores the old text.
    pub fn set_text(&mut self, text: &str) {
        self.autocomplete.cancel();
        self.history.stop_browsing();
        self.text.replace(text);
        self.view.first_row = 0;
        self.handler.emit(EditorEvent::Changed);
    }

    pub(super) fn submit(&mut self) {
        self.autocomplete.cancel();
        self.history.stop_browsing();
        let text = self.text.take();
        self.view.first_row = 0;
        self.handler.emit(EditorEvent::Changed);
        let text = text.trim().to_owned();
        self.handler.emit(EditorEvent::Submitted(text));
    }

    pub(super) fn move_up(&mut self, now: Instant) {
        self.text.update_layout();
        let current = self.text.cursor_row();
        let buffer = &self.text.buffer;
        let browses = buffer.is_empty() || self.history.is_browsing() || buffer.cursor.offset == 0;
        match current.checked_sub(1) {
            None if browses => self.browse_history(HistoryStep::Older),
            None => self.text.move_within_line(0),
            Some(target) => {
                self.text.move_to_row(current, target);
                self.update_popup(now);
            }
        }
    }

    pub(super) fn move_down(&mut self, now: Instant) {
        self.text.update_layout();
        let current = self.text.cursor_row();
        let is_last = current + 1 >= self.text.layout.len();
        if is_last && self.history.is_browsing() {
            self.browse_history(HistoryStep::Newer);
        } else if is_last {
            let end = self.text.buffer.line().len();
            self.text.move_within_line(end);
        } else {
            self.text.move_to_row(current, current + 1);
            self.update_popup(now);
        }
    }

    /// Moves the cursor to the clicked position.
    pub(super) fn click(&mut self, event: &MouseEvent, padding: usize, now: Instant) {
        let row = event.row.checked_sub(1);
        let Some(row) = row.filter(|row| *row < self.view.visible_rows) else {
            return;
        };
        let column = event.column.saturating_sub(padding);
        if self.text.move_to_cell(self.view.first_row + row, column) {
            self.history.stop_browsing();
            self.update_popup(now);
        }
    }

    /// Updates an open popup after the text before the cursor changed.
    pub(super) fn update_popup(&mut self, now: Instant) {
        self.autocomplete.update(&self.text.buffer, now);
        self.apply_completion_reply();
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
        let buffer = &self.text.buffer;
        let completed = provider.complete(buffer.line(), buffer.cursor.offset, item, prefix);
        self.text.rewrite_line(&completed.line, completed.offset);
        self.handler.emit(EditorEvent::Changed);
    }

    /// Applies a completion reply that has arrived.
    pub(super) fn apply_completion_reply(&mut self) {
        match self.autocomplete.apply_reply(&self.text.buffer) {
            ReplyOutcome::Nothing | ReplyOutcome::HistoryView => {}
            ReplyOutcome::Insert(item, prefix) => self.insert_completion(&item, &prefix),
        }
    }
}
