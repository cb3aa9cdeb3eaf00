//! A single-line text field that scrolls horizontally around the cursor.

use super::background::{clip, fit};
use super::editor::kill_ring::{EditDirection, KillMode, KillRing};
use super::editor::paste::plain_text;
use super::editor::undo::{LastAction, UndoStack};
use super::handler::Handler;
use super::word::{word_end_after, word_start_before};
use crate::component::{CURSOR_MARKER, Component, InputContext, InputOutcome, MouseOutcome};
use crate::input::{InputEvent, KeyEvent, MouseButton, MouseEvent, MouseEventKind, action};
use crate::line::Lines;
use crate::style::Painter;
use crate::text::{
    WideCharPolicy, grapheme_width, graphemes, pad_to_width, slice_columns, visible_width,
};

#[derive(Clone, Debug)]
pub struct InputOptions {
    /// Shown before the text.
    pub prompt: String,
    /// Shown while the field is empty.
    pub placeholder: String,
    pub placeholder_style: Painter,
}

impl Default for InputOptions {
    fn default() -> Self {
        Self {
            prompt: "> ".to_owned(),
            placeholder: String::new(),
            placeholder_style: Painter::plain(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputFieldEvent {
    /// The text was submitted; it stays in the field.
    Submitted(String),
    Canceled,
}

/// A single-line text field with the editor's word, kill and undo keys.
#[derive(Debug, Default)]
pub struct Input {
    options: InputOptions,
    value: String,
    cursor: usize,
    first_column: usize,
    focused: bool,
    kill_ring: KillRing,
    undo: UndoStack<(String, usize)>,
    last: LastAction,
    handler: Handler<InputFieldEvent>,
}

impl Input {
    pub fn new(options: InputOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Calls `handle` for every event.
    pub fn on_event(&mut self, handle: impl FnMut(InputFieldEvent) + Send + 'static) {
        self.handler.set(handle);
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    /// Replaces the text. The cursor keeps its position, or moves to the end.
    pub fn set_value(&mut self, value: &str) {
        self.value = one_line(value);
        self.cursor = self.value.floor_char_boundary(self.cursor);
    }

    fn split(&self) -> (&str, &str) {
        self.value
            .split_at_checked(self.cursor)
            .unwrap_or((&self.value, ""))
    }

    fn snapshot(&mut self) {
        self.undo.push((self.value.clone(), self.cursor));
    }

    fn insert(&mut self, text: &str) {
        self.value.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove(&mut self, start: usize, end: usize) -> String {
        let removed: String = self.value.drain(start..end).collect();
        self.cursor = start;
        removed
    }

    fn kill(&mut self, start: usize, end: usize, direction: EditDirection) {
        if start == end {
            return;
        }
        self.snapshot();
        let removed = self.remove(start, end);
        let kill = if self.last == LastAction::Killing {
            KillMode::Continued
        } else {
            KillMode::New
        };
        self.kill_ring.push(&removed, direction, kill);
        self.last = LastAction::Killing;
    }

    fn yank(&mut self) {
        let Some(text) = self.kill_ring.latest().map(str::to_owned) else {
            return;
        };
        self.snapshot();
        self.insert(&text);
        self.last = LastAction::Yanking;
    }

    fn yank_pop(&mut self) {
        if self.last != LastAction::Yanking || self.kill_ring.len() < 2 {
            return;
        }
        let yanked = self.kill_ring.latest().map_or(0, str::len);
        self.snapshot();
        self.remove(self.cursor - yanked, self.cursor);
        self.kill_ring.rotate();
        let text = self.kill_ring.latest().unwrap_or_default().to_owned();
        self.insert(&text);
        self.last = LastAction::Yanking;
    }

    fn before(&self) -> usize {
        let (before, _) = self.split();
        let last = last_grapheme_len(before);
        self.cursor - last
    }

    fn after(&self) -> usize {
        let (_, after) = self.split();
        self.cursor + graphemes(after).next().map_or(0, str::len)
    }

    fn move_to(&mut self, cursor: usize) {
        self.cursor = cursor;
        self.last = LastAction::Other;
    }

    fn delete(&mut self, start: usize, end: usize) {
        self.last = LastAction::Other;
        if start != end {
            self.snapshot();
            self.remove(start, end);
        }
    }

    fn handle_key(&mut self, key: &KeyEvent, context: &InputContext<'_>) -> InputOutcome {
        let means = |action| context.keybindings.matches(key, action);
        let (cursor, end) = (self.cursor, self.value.len());
        if means(action::SELECT_CANCEL) {
            self.handler.emit(InputFieldEvent::Canceled);
        } else if means(action::EDITOR_UNDO) {
            if let Some((value, cursor)) = self.undo.pop() {
                self.value = value;
                self.move_to(cursor);
            }
        } else if means(action::INPUT_SUBMIT) || key.raw() == b"\n" {
            self.handler
                .emit(InputFieldEvent::Submitted(self.value.clone()));
        } else if means(action::EDITOR_DELETE_CHAR_BACKWARD) {
            self.delete(self.before(), cursor);
        } else if means(action::EDITOR_DELETE_CHAR_FORWARD) {
            self.delete(cursor, self.after());
        } else if means(action::EDITOR_DELETE_WORD_BACKWARD) {
            let start = word_start_before(&self.value, cursor, &[]);
            self.kill(start, cursor, EditDirection::Backward);
        } else if means(action::EDITOR_DELETE_WORD_FORWARD) {
            let word_end = word_end_after(&self.value, cursor, &[]);
            self.kill(cursor, word_end, EditDirection::Forward);
        } else if means(action::EDITOR_DELETE_TO_LINE_START) {
            self.kill(0, cursor, EditDirection::Backward);
        } else if means(action::EDITOR_DELETE_TO_LINE_END) {
            self.kill(cursor, end, EditDirection::Forward);
        } else if means(action::EDITOR_YANK) {
            self.yank();
        } else if means(action::EDITOR_YANK_POP) {
            self.yank_pop();
        } else if means(action::EDITOR_CURSOR_LEFT) {
            self.move_to(self.before());
        } else if means(action::EDITOR_CURSOR_RIGHT) {
            self.move_to(self.after());
        } else if means(action::EDITOR_CURSOR_LINE_START) {
            self.move_to(0);
        } else if means(action::EDITOR_CURSOR_LINE_END) {
            self.move_to(end);
        } else if means(action::EDITOR_CURSOR_WORD_LEFT) {
            self.move_to(word_start_before(&self.value, cursor, &[]));
        } else if means(action::EDITOR_CURSOR_WORD_RIGHT) {
            self.move_to(word_end_after(&self.value, cursor, &[]));
        } else if let Some(character) = key.text().filter(|text| !text.is_control()) {
            if self.last.starts_step(character) {
                self.snapshot();
            }
            self.last = LastAction::Typing;
            self.insert(character.encode_utf8(&mut [0; 4]));
        } else {
            return InputOutcome::Ignored;
        }
        InputOutcome::Consumed
    }

    /// Returns the first column to show in `width` columns, and how many of them contain text.
    fn scroll(&self, width: usize) -> (usize, usize) {
        let total = visible_width(&self.value);
        if total < width {
            return (0, width);
        }
        let (before, after) = self.split();
        let room = if after.is_empty() { width - 1 } else { width };
        let column = visible_width(before);
        let half = room / 2;
        let first = if column < half {
            0
        } else if column > total.saturating_sub(half) {
            total.saturating_sub(room)
        } else {
            column - half
        };
        (first, room)
    }

    fn draw_value(&mut self, width: usize) -> String {
        let (first, room) = self.scroll(width);
        self.first_column = first;
        let column = visible_width(self.split().0);
        let before = slice_columns(&self.value, first..column, WideCharPolicy::Drop).text;
        let (_, after) = self.split();
        let mut rest = graphemes(after);
        let at = rest.next().unwrap_or(" ");
        let left = room.saturating_sub(column - first + grapheme_width(at));
        let after_cursor = clip(after.get(at.len()..).unwrap_or_default(), left);
        self.with_cursor(&before, at, &after_cursor)
    }

    fn with_cursor(&self, before: &str, at: &str, after: &str) -> String {
        let marker = if self.focused { CURSOR_MARKER } else { "" };
        format!("{before}{marker}\x1b[7m{at}\x1b[27m{after}")
    }
}

/// Returns the length of the last grapheme of `text`.
fn last_grapheme_len(text: &str) -> usize {
    use unicode_segmentation::UnicodeSegmentation;
    text.graphemes(true).next_back().map_or(0, str::len)
}

fn one_line(text: &str) -> String {
    plain_text(text)
        .chars()
        .filter(|character| *character != '\n')
        .collect()
}

impl Component for Input {
    fn render(&mut self, width: usize) -> Lines {
        let prompt = self.options.prompt.clone();
        let room = width.saturating_sub(visible_width(&prompt));
        if room == 0 {
            return Lines::from(vec![fit(clip(&prompt, width).into_owned(), width)]);
        }
        let text = if self.value.is_empty() && !self.options.placeholder.is_empty() {
            let shown = clip(&self.options.placeholder, room);
            let at = graphemes(&shown).next().unwrap_or(" ");
            let style = &self.options.placeholder_style;
            let rest = style.paint(shown.get(at.len()..).unwrap_or_default());
            self.with_cursor("", &style.paint(at), &rest)
        } else {
            self.draw_value(room)
        };
        let line = pad_to_width(&format!("{prompt}{text}"), width);
        Lines::from(vec![fit(line, width)])
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        match event {
            InputEvent::Key(key) if !key.is_release() => self.handle_key(key, context),
            InputEvent::Paste(paste) => {
                self.last = LastAction::Other;
                self.snapshot();
                self.insert(&one_line(&paste.text));
                InputOutcome::Consumed
            }
            _ => InputOutcome::Ignored,
        }
    }

    fn handle_mouse(&mut self, event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        if event.kind != MouseEventKind::Press
            || event.button != MouseButton::Left
            || event.row != 0
        {
            return MouseOutcome::default();
        }
        let prompt = visible_width(&self.options.prompt);
        let target = self.first_column + event.column.saturating_sub(prompt);
        let mut column = 0;
        let mut cursor = self.value.len();
        let mut offset = 0;
        for grapheme in graphemes(&self.value) {
            column += grapheme_width(grapheme);
            if target < column {
                cursor = offset;
                break;
            }
            offset += grapheme.len();
        }
        self.move_to(cursor);
        MouseOutcome {
            focus: true,
            ..MouseOutcome::handled()
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }
}
