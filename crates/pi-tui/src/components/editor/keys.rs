//! From keys to editing commands, in the order in which bindings are tried.

use super::autocomplete::{Asking, in_command};
use super::history::Step;
use super::kill_ring::Direction;
use super::{Editor, EditorEvent};
use crate::component::{InputContext, InputOutcome};
use crate::input::{InputEvent, Key, KeyEvent, KeyId, Modifiers, action};

/// What a key can make the editor do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
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

/// Bindings in the order of precedence, which matters where users bind a key twice.
const BINDINGS: &[(&str, Command)] = &[
    (action::EDITOR_UNDO, Command::Undo),
    (action::INPUT_TAB, Command::Complete),
    (action::EDITOR_DELETE_TO_LINE_END, Command::KillToLineEnd),
    (
        action::EDITOR_DELETE_TO_LINE_START,
        Command::KillToLineStart,
    ),
    (
        action::EDITOR_DELETE_WORD_BACKWARD,
        Command::KillWordBackward,
    ),
    (action::EDITOR_DELETE_WORD_FORWARD, Command::KillWordForward),
    (action::EDITOR_DELETE_CHAR_BACKWARD, Command::DeleteBackward),
    (action::EDITOR_DELETE_CHAR_FORWARD, Command::DeleteForward),
    (action::EDITOR_YANK, Command::Yank),
    (action::EDITOR_YANK_POP, Command::YankPop),
    (action::EDITOR_HISTORY_PREVIOUS, Command::HistoryOlder),
    (action::EDITOR_HISTORY_NEXT, Command::HistoryNewer),
    (action::EDITOR_CURSOR_LINE_START, Command::LineStart),
    (action::EDITOR_CURSOR_LINE_END, Command::LineEnd),
    (action::EDITOR_CURSOR_WORD_LEFT, Command::WordLeft),
    (action::EDITOR_CURSOR_WORD_RIGHT, Command::WordRight),
    (action::INPUT_NEW_LINE, Command::NewLine),
    (action::INPUT_SUBMIT, Command::Submit),
    (action::EDITOR_CURSOR_UP, Command::Up),
    (action::EDITOR_CURSOR_DOWN, Command::Down),
    (action::EDITOR_CURSOR_RIGHT, Command::Right),
    (action::EDITOR_CURSOR_LEFT, Command::Left),
    (action::EDITOR_PAGE_UP, Command::PageUp),
    (action::EDITOR_PAGE_DOWN, Command::PageDown),
    (action::EDITOR_JUMP_FORWARD, Command::JumpForward),
    (action::EDITOR_JUMP_BACKWARD, Command::JumpBackward),
];

const SHIFT_BACKSPACE: KeyId = KeyId::new(Key::Backspace).with(Modifiers::SHIFT);
const SHIFT_DELETE: KeyId = KeyId::new(Key::Delete).with(Modifiers::SHIFT);
const SHIFT_SPACE: KeyId = KeyId::new(Key::Space).with(Modifiers::SHIFT);
const SHIFT_ENTER: KeyId = KeyId::new(Key::Enter).with(Modifiers::SHIFT);
const ENTER: KeyId = KeyId::new(Key::Enter);

/// Returns the command a key is bound to.
fn command_for(key: &KeyEvent, context: &InputContext<'_>) -> Option<Command> {
    // Holding Shift while deleting must not stop the deleting, whatever is bound.
    let fixed = if key.is(SHIFT_BACKSPACE) {
        Some(Command::DeleteBackward)
    } else if key.is(SHIFT_DELETE) {
        Some(Command::DeleteForward)
    } else if is_raw_new_line(key.raw()) {
        Some(Command::NewLine)
    } else {
        None
    };
    BINDINGS
        .iter()
        .find(|(action, _)| context.keybindings.matches(key, action))
        .map(|(_, command)| *command)
        .or(fixed)
}

/// Returns whether a sequence is how some terminal or some terminal's settings say Shift+Enter.
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
                self.jump_to(character, direction);
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

    /// Handles a key that is the popup's while one is open; returns whether that was all.
    fn handle_popup_key(&mut self, key: &KeyEvent, context: &InputContext<'_>) -> bool {
        let means = |action| context.keybindings.matches(key, action);
        if means(action::SELECT_CANCEL) {
            self.autocomplete.cancel();
            return true;
        }
        if means(action::SELECT_UP) || means(action::SELECT_DOWN) {
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
            self.accept_completion();
            // Enter on a command runs it: the key goes on to mean submit.
            return !command;
        }
        false
    }

    fn run(&mut self, command: Command, key: &KeyEvent, context: &InputContext<'_>) {
        let now = context.now;
        match command {
            Command::Undo => self.undo(),
            Command::Complete => self.complete_on_demand(context),
            Command::KillToLineEnd => self.kill_to_line_end(),
            Command::KillToLineStart => self.kill_to_line_start(),
            Command::KillWordBackward => self.kill_word(Direction::Backward),
            Command::KillWordForward => self.kill_word(Direction::Forward),
            Command::DeleteBackward => self.delete(Direction::Backward, now),
            Command::DeleteForward => self.delete(Direction::Forward, now),
            Command::Yank => self.yank(),
            Command::YankPop => self.yank_pop(),
            Command::HistoryOlder => self.browse_history(Step::Older),
            Command::HistoryNewer => self.browse_history(Step::Newer),
            Command::LineStart => self.move_within_line(0),
            Command::LineEnd => self.move_within_line(self.buffer.line().len()),
            Command::WordLeft => self.move_word(Direction::Backward),
            Command::WordRight => self.move_word(Direction::Forward),
            Command::NewLine => self.new_line_key(key, context),
            Command::Submit => self.submit_key(),
            Command::Up => self.move_up(now),
            Command::Down => self.move_down(now),
            Command::Right => self.move_atom(Direction::Forward, now),
            Command::Left => self.move_atom(Direction::Backward, now),
            Command::PageUp => self.move_page(Direction::Backward),
            Command::PageDown => self.move_page(Direction::Forward),
            Command::JumpForward => self.jump = Some(Direction::Forward),
            Command::JumpBackward => self.jump = Some(Direction::Backward),
        }
    }

    fn complete_on_demand(&mut self, context: &InputContext<'_>) {
        let before = self.buffer.before_cursor();
        let name_only = in_command(&self.buffer) && !before.trim_start().contains(' ');
        let asking = if name_only {
            Asking::CommandTab
        } else {
            Asking::PathTab
        };
        self.autocomplete.ask(asking, &self.buffer, context.now);
        self.settle_completion();
    }

    /// A line break, unless Enter breaks lines and a backslash before it asks for the opposite.
    fn new_line_key(&mut self, key: &KeyEvent, context: &InputContext<'_>) {
        let submits_with_shift = context
            .keybindings
            .keys(action::INPUT_SUBMIT)
            .contains(&SHIFT_ENTER);
        let reversed = submits_with_shift
            && self.submit_enabled
            && key.is(ENTER)
            && self.buffer.before_cursor().ends_with('\\');
        if reversed {
            self.delete_backslash();
            self.submit();
        } else {
            self.new_line();
        }
    }

    /// Submits, unless a backslash before the cursor asks for a line break, for terminals that cannot
    /// send Shift+Enter.
    fn submit_key(&mut self) {
        if !self.submit_enabled {
            return;
        }
        if self.buffer.before_cursor().ends_with('\\') {
            self.delete_backslash();
            self.new_line();
        } else {
            self.submit();
        }
    }

    fn delete_backslash(&mut self) {
        self.snapshot();
        let end = self.buffer.cursor.offset;
        self.buffer.remove(end.saturating_sub(1)..end);
    }

    pub(super) fn handle_event(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
    ) -> InputOutcome {
        match event {
            InputEvent::Key(key) if !key.is_release() => self.handle_key(key, context),
            InputEvent::Paste(paste) => {
                self.jump = None;
                self.paste(&paste.text);
                InputOutcome::Consumed
            }
            InputEvent::Unknown(bytes) if is_raw_new_line(bytes) => {
                self.new_line();
                InputOutcome::Consumed
            }
            _ => InputOutcome::Ignored,
        }
    }

    pub(super) fn changed(&mut self) {
        self.handler.emit(EditorEvent::Changed);
    }
}
