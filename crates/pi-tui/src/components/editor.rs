//! The multi-line prompt editor: text between two borders, with a completion popup below.
//!
//! This file owns the component and its rendering. `editable` is the text with its edits (`edit`),
//! cursor movement (`movement`, `cursor`), content (`buffer`), visual lines (`layout`), `undo` and
//! `kill_ring`. `keys` maps keys to commands, `actions` combines the text with `history` and
//! `autocomplete`, and `viewport` knows which rows are visible.

use std::sync::Arc;
use std::time::Instant;

use super::background::fit;
use super::handler::Handler;
use super::select_list::SelectTheme;
use super::text::horizontal_padding;
use crate::autocomplete::CompletionProvider;
use crate::component::{Component, InputContext, InputOutcome, MouseOutcome};
use crate::input::{InputEvent, MouseButton, MouseEvent, MouseEventKind};
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::text::{pad_to_width, sanitize, visible_width};

mod actions;
mod autocomplete;
mod buffer;
mod cursor;
mod edit;
mod editable;
mod history;
mod keys;
pub(super) mod kill_ring;
mod layout;
mod movement;
pub(super) mod paste;
#[cfg(test)]
mod tests;
pub(super) mod undo;
mod viewport;

use autocomplete::Autocomplete;
use editable::EditableText;
use history::PromptHistory;
use keys::is_raw_new_line;
use kill_ring::EditDirection;
use layout::VisualLine;
use viewport::EditorViewport;

#[derive(Clone, Debug, Default)]
pub struct EditorTheme {
    /// The borders above and below the text.
    pub border: Painter,
    pub popup: SelectTheme,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditorOptions {
    /// Columns left and right of the text.
    pub padding: usize,
    /// Entries shown in the completion popup, from 3 to 20.
    pub max_completions: usize,
}

impl Default for EditorOptions {
    fn default() -> Self {
        Self {
            padding: 0,
            max_completions: 5,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorEvent {
    Changed,
    /// The text was submitted, trimmed and with pastes expanded; the editor is now empty.
    Submitted(String),
}

/// A multi-line text field.
#[derive(Debug)]
pub struct Editor {
    theme: EditorTheme,
    status: String,
    padding: usize,
    text: EditableText,
    history: PromptHistory,
    /// Direction of a jump that waits for its character.
    jump: Option<EditDirection>,
    autocomplete: Autocomplete,
    view: EditorViewport,
    focused: bool,
    submit_enabled: bool,
    handler: Handler<EditorEvent>,
}

impl Editor {
    pub fn new(theme: EditorTheme, options: EditorOptions) -> Self {
        let popup = theme.popup.clone();
        Self {
            theme,
            status: String::new(),
            padding: options.padding,
            text: EditableText::default(),
            history: PromptHistory::default(),
            jump: None,
            autocomplete: Autocomplete::new(popup, options.max_completions.clamp(3, 20)),
            view: EditorViewport::default(),
            focused: false,
            submit_enabled: true,
            handler: Handler::default(),
        }
    }

    /// Calls `handle` for every event.
    pub fn on_event(&mut self, handle: impl FnMut(EditorEvent) + Send + 'static) {
        self.handler.set(handle);
    }

    /// Returns the displayed text, in which markers represent large pastes.
    pub fn text(&self) -> String {
        self.text.buffer.text()
    }

    /// Returns the text with large pastes expanded.
    pub fn expanded_text(&self) -> String {
        self.text.expanded()
    }

    pub fn is_empty(&self) -> bool {
        self.text.buffer.is_empty()
    }

    /// Returns the cursor as line and byte offset.
    pub fn cursor(&self) -> (usize, usize) {
        (self.text.buffer.cursor.line, self.text.buffer.cursor.offset)
    }

    /// Inserts text at the cursor as one undo step.
    pub fn insert_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.edit(|content| {
                content.insert(&paste::plain_text(text));
                true
            });
        }
    }

    /// Adds a prompt to the history, which Up and Down browse.
    pub fn add_to_history(&mut self, text: &str) {
        self.history.add(text);
    }

    pub fn set_completion_provider(&mut self, provider: Arc<dyn CompletionProvider>) {
        self.autocomplete.set_provider(provider);
    }

    /// Registers a callback that runs, on any thread, when completions arrive and a frame is due.
    pub fn on_completions(&mut self, notify: impl Fn() + Send + Sync + 'static) {
        self.autocomplete.requests.on_reply(notify);
    }

    /// Whether the completion popup is open.
    pub fn is_completing(&self) -> bool {
        self.autocomplete.popup.is_some()
    }

    pub fn set_border(&mut self, painter: impl Into<Painter>) {
        self.theme.border = painter.into();
    }

    /// Sets the text at the right end of the upper border; empty for none.
    pub fn set_status(&mut self, status: &str) {
        self.status = sanitize(status).replace(['\r', '\n', '\t'], " ");
    }

    /// Sets the columns left and right of the text.
    pub fn set_padding(&mut self, padding: usize) {
        self.padding = padding;
    }

    /// Sets how many entries the popup shows, from 3 to 20.
    pub fn set_max_completions(&mut self, count: usize) {
        self.autocomplete.max_visible = count.clamp(3, 20);
    }

    /// Sets the number of terminal rows. Input events also update it.
    pub fn set_rows(&mut self, rows: usize) {
        self.view.terminal_rows = rows;
    }

    pub fn set_submit_enabled(&mut self, enabled: bool) {
        self.submit_enabled = enabled;
    }

    /// Returns how many rows of text the last frame showed.
    pub fn visible_rows(&self) -> usize {
        self.view.visible_rows
    }

    /// Returns how many rows of text were hidden above and below in the last frame.
    pub fn hidden_rows(&self) -> (usize, usize) {
        self.view.hidden_rows(self.text.layout.len())
    }

    /// Returns when [`tick`](Self::tick) is due, while a completion request waits for a pause in
    /// typing.
    pub fn next_tick(&self) -> Option<Instant> {
        self.autocomplete.next_tick()
    }

    /// Runs the timers due by `now`.
    pub fn tick(&mut self, now: Instant) {
        self.autocomplete.tick(&self.text.buffer, now);
        self.apply_completion_reply();
    }
}

impl EditorTheme {
    fn paint_border(&self, arrow: char, hidden: usize, status: &str, width: usize) -> Line {
        let line = if hidden == 0 {
            "─".repeat(width)
        } else {
            border_with_count(arrow, hidden, width)
        };
        fit(self.border.paint(&with_status(line, status)), width)
    }
}

/// Returns a border with a status before its last column, if the status fits without covering the
/// hidden-line count.
fn with_status(border: String, status: &str) -> String {
    let label = format!(" {status} ─");
    let free = border.chars().rev().take_while(|it| *it == '─').count();
    let covered = visible_width(&label);
    if status.is_empty() || covered + 2 > free {
        return border;
    }
    let kept: String = border
        .chars()
        .take(border.chars().count() - covered)
        .collect();
    kept + &label
}

/// Returns a border with the number of lines hidden behind it.
fn border_with_count(arrow: char, hidden: usize, width: usize) -> String {
    let label = format!(" {arrow} {hidden} more ");
    let label_width = visible_width(&label);
    if label_width + 2 <= width {
        let left = (width - label_width) / 2;
        let right = width - left - label_width;
        return format!("{}{label}{}", "─".repeat(left), "─".repeat(right));
    }
    let short = format!("───{label}");
    if visible_width(&short) > width {
        return super::background::ellipsize(&short, width).into_owned();
    }
    let rest = width - visible_width(&short);
    short + &"─".repeat(rest)
}

impl Component for Editor {
    fn render(&mut self, width: usize) -> Lines {
        self.apply_completion_reply();
        let padding = horizontal_padding(self.padding, width);
        let content = (width - padding * 2).max(1);
        // The cursor may be after the last column. Without padding, one column is reserved for it.
        self.text
            .set_width((content - usize::from(padding == 0)).max(1));
        let layout = &self.text.layout;
        let rows = self.view.scroll_to(self.text.cursor_row(), layout.len());
        let visible: Vec<VisualLine> = rows.map_while(|row| layout.get(row)).collect();
        self.view.visible_rows = visible.len();
        let (above, below) = self.view.hidden_rows(layout.len());
        let theme = &self.theme;
        let mut lines = vec![theme.paint_border('↑', above, &self.status, width)];
        lines.extend(
            visible
                .iter()
                .map(|line| self.text.draw_line(line, width, padding, self.focused)),
        );
        lines.push(theme.paint_border('↓', below, "", width));
        self.view.popup_rows = 0;
        if let Some(popup) = &mut self.autocomplete.popup {
            let margin = " ".repeat(padding);
            let popup = popup.list.render(content);
            self.view.popup_rows = popup.len();
            lines.extend(
                popup
                    .iter()
                    .map(|line| fit(pad_to_width(&format!("{margin}{line}"), width), width)),
            );
        }
        lines.into()
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.view.terminal_rows = context.rows;
        self.apply_completion_reply();
        match event {
            InputEvent::Key(key) if !key.is_release() => self.handle_key(key, context),
            InputEvent::Paste(paste) => {
                self.jump = None;
                if !paste.text.is_empty() {
                    self.edit(|text| {
                        text.paste(&paste.text);
                        true
                    });
                }
                InputOutcome::Consumed
            }
            InputEvent::Unknown(bytes) if is_raw_new_line(bytes) => {
                self.edit(EditableText::new_line);
                InputOutcome::Consumed
            }
            _ => InputOutcome::Ignored,
        }
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let padding = horizontal_padding(self.padding, event.width);
        let focus = MouseOutcome {
            focus: true,
            ..MouseOutcome::handled()
        };
        let popup_row = event.row.checked_sub(self.view.visible_rows + 2);
        if let (Some(row), Some(popup)) = (popup_row, &mut self.autocomplete.popup)
            && row < self.view.popup_rows
        {
            let inside = MouseEvent {
                row,
                column: event.column.saturating_sub(padding),
                width: event.width.saturating_sub(padding * 2),
                height: self.view.popup_rows,
                ..*event
            };
            let outcome = popup.list.handle_mouse(&inside, context);
            if !outcome.stops_propagation() {
                return outcome;
            }
            if matches!(event.kind, MouseEventKind::Click { .. }) {
                self.accept_completion();
            }
            return MouseOutcome {
                focus: true,
                ..outcome
            };
        }
        // Press and drag are left to the renderer, which uses them to select text.
        let click = matches!(event.kind, MouseEventKind::Click { .. });
        if !click || event.button != MouseButton::Left {
            return MouseOutcome::default();
        }
        self.click(event, padding, context.now);
        focus
    }

    fn invalidate(&mut self) {
        if let Some(popup) = &mut self.autocomplete.popup {
            popup.list.invalidate();
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }

    fn captures_viewport_input(&self) -> bool {
        self.is_completing()
    }
}
