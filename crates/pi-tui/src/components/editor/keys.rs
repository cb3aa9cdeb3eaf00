//! Maps keys to editor commands, in the order in which bindings are tried.

use super::Editor;
use super::editable::EditableText;
use super::history::HistoryStep;
use super::kill_ring::EditDirection;
use crate::component::{InputContext, InputOutcome};
use crate::input::{Key, KeyEvent, KeyId, Modifiers, action};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditorCommand {
    Undo,
    Complete,
    KillToLineEnd,
    KillToLineStart,
    KillWordBackward,
    KillWordForward,
    DeleteBackward,
    DeleteForward,
    Yank,
    YankPop,
    HistoryOlder,
    HistoryNewer,
    LineStart,
    LineEnd,
    WordLeft,
    WordRight,
    NewLine,
    Submit,
    Up,
    Down,
    Right,
    Left,
    PageUp,
    PageDown,
    JumpForward,
    JumpBackward,
}

/// Bindings in order of precedence, which matters where users bind a key twice.
const BINDINGS: &[(&str, EditorCommand)] = &[
    (action::EDITOR_UNDO, EditorCommand::Undo),
    (action::INPUT_TAB, EditorCommand::Complete),
    (
        action::EDITOR_DELETE_TO_LINE_END,
        EditorCommand::KillToLineEnd,
    ),
    (
        action::EDITOR_DELETE_TO_LINE_START,
        EditorCommand::KillToLineStart,
    ),
    (
        action::EDITOR_DELETE_WORD_BACKWARD,
        EditorCommand::KillWordBackward,
    ),
    (
        action::EDITOR_DELETE_WORD_FORWARD,
        EditorCommand::KillWordForward,
    ),
    (
        action::EDITOR_DELETE_CHAR_BACKWARD,
        EditorCommand::DeleteBackward,
    ),
    (
        action::EDITOR_DELETE_CHAR_FORWARD,
        EditorCommand::DeleteForward,
    ),
    (action::EDITOR_YANK, EditorCommand::Yank),
    (action::EDITOR_YANK_POP, EditorCommand::YankPop),
    (action::EDITOR_HISTORY_PREVIOUS, EditorCommand::HistoryOlder),
    (action::EDITOR_HISTORY_NEXT, EditorCommand::HistoryNewer),
    (action::EDITOR_CURSOR_LINE_START, EditorCommand::LineStart),
    (action::EDITOR_CURSOR_LINE_END, EditorCommand::LineEnd),
    (action::EDITOR_CURSOR_WORD_LEFT, EditorCommand::WordLeft),
    (action::EDITOR_CURSOR_WORD_RIGHT, EditorCommand::WordRight),
    (action::INPUT_NEW_LINE, EditorCommand::NewLine),
    (action::INPUT_SUBMIT, EditorCommand::Submit),
    (action::EDITOR_CURSOR_UP, EditorCommand::Up),
    (action::EDITOR_CURSOR_DOWN, EditorCommand::Down),
    (action::EDITOR_CURSOR_RIGHT, EditorCommand::Right),
    (action::EDITOR_CURSOR_LEFT, EditorCommand::Left),
    (action::EDITOR_PAGE_UP, EditorCommand::PageUp),
    (action::EDITOR_PAGE_DOWN, EditorCommand::PageDown),
    (action::EDITOR_JUMP_FORWARD, EditorCommand::JumpForward),
    (action::EDITOR_JUMP_BACKWARD, EditorCommand::JumpBackward),
];

const SHIFT_BACKSPACE: KeyId = KeyId::new(Key::Backspace).with(Modifiers::SHIFT);
const SHIFT_DELETE: KeyId = KeyId::new(Key::Delete).with(Modifiers::SHIFT);
const SHIFT_SPACE: KeyId = KeyId::new(Key::Space).with(Modifiers::SHIFT);
const SHIFT_ENTER: KeyId = KeyId::new(Key::Enter).with(Modifiers::SHIFT);
const ENTER: KeyId = KeyId::new(Key::Enter);

/// Returns the command a key is bound to.
fn command_for(key: &KeyEvent, context: &InputContext<'_>) -> Option<EditorCommand> {
    // Holding Shift while deleting must not interrupt the deletion, whatever is bound.
    let fixed = if key.is(SHIFT_BACKSPACE) {
        Some(EditorCommand::DeleteBackward)
    } else if key.is(SHIFT_DELETE) {
        Some(EditorCommand::DeleteForward)
    } else if is_raw_new_line(key.raw()) {
        Some(EditorCommand::NewLine)
    } else {
        None
    };
    BINDINGS
        .iter()
        .find(|(action, _)| context.keybindings.matches(key, action))
        .map(|(_, command)| *command)
        .or(fixed)
}

/// Whether a sequence is how some terminal, or its settings, encodes Shift+Enter.
pub(super) fn is_raw_new_line(raw: &[u8]) -> bool {
    matches!(raw, [b'\n', ..] | b"\x1b\r" | b"\x1b[13;2~")
        || (raw.len() > 1 && raw.contains(&0x1b) && raw.contains(&b'\r'))
}

impl Editor {
    pub(super) fn handle_key(
        &mut self,
        key: &KeyEvent,
        context: &InputContext<'_>,
    ) -> InputOutcome {
        let means = |action| context.keybindings.matches(key, action);
        if let Some(direction) = self.jump.take() {
            if means(action::EDITOR_JUMP_FORWARD) || means(action::EDITOR_JUMP_BACKWARD) {
                return InputOutcome::Consumed;
            }
            if let Some(character) = key.text() {
                self.text.jump_to(character, direction);
                return InputOutcome::Consumed;
            }
        }
        if means(action::INPUT_COPY) {
            return InputOutcome::Ignored;
        }
        if self.autocomplete.popup.is_some()
            && !means(action::EDITOR_UNDO)
            && self.handle_popup_key(key, context)
        {
            return InputOutcome::Consumed;
        }
        match command_for(key, context) {
            Some(command) => {
                self.run(command, key, context);
                InputOutcome::Consumed
            }
            None if key.is(SHIFT_SPACE) => {
                self.type_character(' ', context.now);
                InputOutcome::Consumed
            }
            None => match key.text().filter(|character| !character.is_control()) {
                Some(character) => {
                    self.type_character(character, context.now);
                    InputOutcome::Consumed
                }
                None => InputOutcome::Ignored,
            },
        }
    }

    /// Handles a key while the popup is open. Returns whether the key is fully handled.
    fn handle_popup_key(&mut self, key: &KeyEvent, context: &InputContext<'_>) -> bool {
        let means = |action| context.keybindings.matches(key, action);
        if means(action::SELECT_CANCEL) {
            self.autocomplete.cancel();
            return true;
        }
        let moves = [
            action::SELECT_UP,
            action::SELECT_DOWN,
            action::SELECT_PAGE_UP,
            action::SELECT_PAGE_DOWN,
        ];
        if moves.into_iter().any(means) {
            if let Some(popup) = &mut self.autocomplete.popup {
                popup.list.handle_key(key, context);
            }
            return true;
        }
        if means(action::INPUT_TAB) {
            self.accept_completion();
            return true;
        }
        if means(action::SELECT_CONFIRM) {
            let popup = self.autocomplete.popup.as_ref();
            let command = popup.is_some_and(|popup| popup.prefix.starts_with('/'));
            let typed = self.text.buffer.line().trim_end().to_owned();
            self.accept_completion();
            // Enter on a command, or after its complete argument, runs it, so continue with submitting.
            let is_complete = typed.starts_with('/') && self.text.buffer.line().trim_end() == typed;
            return !(command || is_complete);
        }
        false
    }

    fn run(&mut self, command: EditorCommand, key: &KeyEvent, context: &InputContext<'_>) {
        let now = context.now;
        match command {
            EditorCommand::Undo => {
                self.autocomplete.cancel();
                self.edit(EditableText::undo);
            }
            EditorCommand::Complete => {
                self.autocomplete.request_on_demand(&self.text.buffer, now);
                self.apply_completion_reply();
            }
            EditorCommand::KillToLineEnd => self.edit(EditableText::kill_to_line_end),
            EditorCommand::KillToLineStart => self.edit(EditableText::kill_to_line_start),
            EditorCommand::KillWordBackward => {
                self.edit(|text| text.kill_word(EditDirection::Backward));
            }
            EditorCommand::KillWordForward => {
                self.edit(|text| text.kill_word(EditDirection::Forward));
            }
            EditorCommand::DeleteBackward => self.delete(EditDirection::Backward, now),
            EditorCommand::DeleteForward => self.delete(EditDirection::Forward, now),
            EditorCommand::Yank => self.yank(EditableText::yank),
            EditorCommand::YankPop => self.yank(EditableText::yank_pop),
            EditorCommand::HistoryOlder => self.browse_history(HistoryStep::Older),
            EditorCommand::HistoryNewer => self.browse_history(HistoryStep::Newer),
            EditorCommand::LineStart => self.text.move_within_line(0),
            EditorCommand::LineEnd => {
                let end = self.text.buffer.line().len();
                self.text.move_within_line(end);
            }
            EditorCommand::WordLeft => self.text.move_word(EditDirection::Backward),
            EditorCommand::WordRight => self.text.move_word(EditDirection::Forward),
            EditorCommand::NewLine => self.new_line_key(key, context),
            EditorCommand::Submit => self.submit_key(),
            EditorCommand::Up => self.move_up(now),
            EditorCommand::Down => self.move_down(now),
            EditorCommand::Right => {
                self.text.move_atom(EditDirection::Forward);
                self.update_popup(now);
            }
            EditorCommand::Left => {
                self.text.move_atom(EditDirection::Backward);
                self.update_popup(now);
            }
            EditorCommand::PageUp => self
                .text
                .move_page(EditDirection::Backward, self.view.max_rows()),
            EditorCommand::PageDown => self
                .text
                .move_page(EditDirection::Forward, self.view.max_rows()),
            EditorCommand::JumpForward => self.jump = Some(EditDirection::Forward),
            EditorCommand::JumpBackward => self.jump = Some(EditDirection::Backward),
        }
    }

    /// Inserts a line break, unless Enter breaks lines and a preceding backslash inverts that.
    fn new_line_key(&mut self, key: &KeyEvent, context: &InputContext<'_>) {
        let submits_with_shift = context
            .keybindings
            .keys(action::INPUT_SUBMIT)
            .contains(&SHIFT_ENTER);
        let reversed = submits_with_shift
            && self.submit_enabled
            && key.is(ENTER)
            && self.text.buffer.before_cursor().ends_with('\\');
        if reversed {
            self.text.delete_backslash();
            self.submit();
        } else {
            self.edit(EditableText::new_line);
        }
    }

    /// Submits, unless a backslash before the cursor requests a line break, for terminals that
    /// cannot send Shift+Enter.
    fn submit_key(&mut self) {
        if !self.submit_enabled {
            return;
        }
        if self.text.buffer.before_cursor().ends_with('\\') {
            self.text.delete_backslash();
            self.edit(EditableText::new_line);
        } else {
            self.submit();
        }
    }
}
