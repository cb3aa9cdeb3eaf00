//! The multi-line prompt editor: text between two borders, with a completion popup below.
//!
//! This file owns the component and its rendering. The submodules own the text (`buffer`), visual
//! lines (`layout`), vertical movement (`cursor`, `movement`), edits (`edit`), key handling
//! (`keys`), and stateful helpers (`history`, `kill_ring`, `undo`, `paste`, `autocomplete`).

use std::sync::Arc;
use std::time::Instant;

use super::background::fit;
use super::handler::Handler;
use super::select_list::SelectTheme;
use super::text::horizontal_padding;
use crate::autocomplete::CompletionProvider;
use crate::component::{CURSOR_MARKER, Component, InputContext, InputOutcome, MouseOutcome};
use crate::input::{InputEvent, MouseButton, MouseEvent, MouseEventKind};
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::text::{pad_to_width, sanitize, visible_width};

mod autocomplete;
mod buffer;
mod cursor;
mod edit;
mod history;
mod keys;
pub(super) mod kill_ring;
mod layout;
mod movement;
pub(super) mod paste;
#[cfg(test)]
mod tests;
pub(super) mod undo;

use autocomplete::Autocomplete;
use buffer::{Buffer, TextPosition};
use cursor::StickyColumn;
use history::PromptHistory;
use kill_ring::{EditDirection, KillRing};
use layout::{EditorLayout, VisualLine};
use undo::{LastAction, UndoStack};

const DEFAULT_ROWS: usize = 24;
const DEFAULT_WIDTH: usize = 80;

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
    buffer: Buffer,
    layout: EditorLayout,
    layout_width: usize,
    sticky: StickyColumn,
    last: LastAction,
    undo: UndoStack<Buffer>,
    kill_ring: KillRing,
    yanked_at: TextPosition,
    history: PromptHistory,
    jump: Option<EditDirection>,
    autocomplete: Autocomplete,
    rows: usize,
    first_row: usize,
    visible_rows: usize,
    popup_rows: usize,
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
            buffer: Buffer::default(),
            layout: EditorLayout::default(),
            layout_width: DEFAULT_WIDTH,
            sticky: StickyColumn::default(),
            last: LastAction::default(),
            undo: UndoStack::default(),
            kill_ring: KillRing::default(),
            yanked_at: TextPosition::default(),
            history: PromptHistory::default(),
            jump: None,
            autocomplete: Autocomplete::new(popup, options.max_completions.clamp(3, 20)),
            rows: DEFAULT_ROWS,
            first_row: 0,
            visible_rows: 1,
            popup_rows: 0,
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
        self.buffer.text()
    }

    /// Returns the text with large pastes expanded.
    pub fn expanded_text(&self) -> String {
        self.buffer.pastes.expand(&self.buffer.text())
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Returns the cursor as line and byte offset.
    pub fn cursor(&self) -> (usize, usize) {
        (self.buffer.cursor.line, self.buffer.cursor.offset)
    }

    /// Inserts text at the cursor as one undo step.
    pub fn insert_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.autocomplete.cancel();
        self.history.stop_browsing();
        self.interrupt();
        self.snapshot();
        self.buffer.insert(&paste::plain_text(text));
        self.changed();
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
        self.rows = rows;
    }

    pub fn set_submit_enabled(&mut self, enabled: bool) {
        self.submit_enabled = enabled;
    }

    /// Returns how many rows of text the last frame showed.
    pub fn visible_rows(&self) -> usize {
        self.visible_rows
    }

    /// Returns how many rows of text were hidden above and below in the last frame.
    pub fn hidden_rows(&self) -> (usize, usize) {
        let shown_up_to = self.first_row + self.visible_rows;
        (
            self.first_row,
            self.layout.len().saturating_sub(shown_up_to),
        )
    }

    /// Returns when [`tick`](Self::tick) is due, while a completion request waits for a pause in
    /// typing.
    pub fn next_tick(&self) -> Option<Instant> {
        self.autocomplete.next_tick()
    }

    /// Runs the timers due by `now`.
    pub fn tick(&mut self, now: Instant) {
        self.autocomplete.tick(&self.buffer, now);
        self.apply_completion_reply();
    }

    /// Scrolls the cursor into view and returns the visual lines to show.
    fn visible_lines(&mut self) -> Vec<VisualLine> {
        let max = self.max_rows();
        let cursor = self.layout.index_of(self.buffer.cursor);
        let first = self
            .first_row
            .min(cursor)
            .max((cursor + 1).saturating_sub(max));
        self.first_row = first.min(self.layout.len().saturating_sub(max));
        let rows = self.first_row..self.first_row + max;
        rows.map_while(|row| self.layout.get(row)).collect()
    }

    fn draw_line(&self, line: &VisualLine, width: usize, padding: usize) -> Line {
        let margin = " ".repeat(padding);
        let text = self.buffer.line_at(line.line);
        let part = text.get(line.range.clone()).unwrap_or_default();
        let cursor = self.buffer.cursor;
        let here = cursor.line == line.line
            && cursor.offset >= line.range.start
            && (cursor.offset < line.range.end || line.ends_line);
        let shown = if here {
            self.with_cursor(part, cursor.offset - line.range.start)
        } else {
            part.to_owned()
        };
        fit(pad_to_width(&format!("{margin}{shown}"), width), width)
    }

    fn with_cursor(&self, part: &str, offset: usize) -> String {
        let (before, after) = part.split_at_checked(offset).unwrap_or((part, ""));
        let length = (self.buffer.atom_end() - self.buffer.cursor.offset).min(after.len());
        let (under, rest) = after.split_at_checked(length).unwrap_or((after, ""));
        let under = if under.is_empty() { " " } else { under };
        let marker = if self.focused { CURSOR_MARKER } else { "" };
        format!("{before}{marker}\x1b[7m{under}\x1b[27m{rest}")
    }

    fn border(&self, arrow: char, hidden: usize, status: &str, width: usize) -> Line {
        let line = if hidden == 0 {
            "─".repeat(width)
        } else {
            border_with_count(arrow, hidden, width)
        };
        fit(self.theme.border.paint(&with_status(line, status)), width)
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
        self.layout_width = (content - usize::from(padding == 0)).max(1);
        self.update_layout();
        let visible = self.visible_lines();
        self.visible_rows = visible.len();
        let below = self.layout.len() - self.first_row - visible.len();
        let mut lines = vec![self.border('↑', self.first_row, &self.status, width)];
        lines.extend(
            visible
                .iter()
                .map(|line| self.draw_line(line, width, padding)),
        );
        lines.push(self.border('↓', below, "", width));
        self.popup_rows = 0;
        if let Some(popup) = &mut self.autocomplete.popup {
            let margin = " ".repeat(padding);
            let popup = popup.list.render(content);
            self.popup_rows = popup.len();
            lines.extend(
                popup
                    .iter()
                    .map(|line| fit(pad_to_width(&format!("{margin}{line}"), width), width)),
            );
        }
        lines.into()
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.rows = context.rows;
        self.apply_completion_reply();
        self.handle_event(event, context)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let padding = horizontal_padding(self.padding, event.width);
        let focus = MouseOutcome {
            focus: true,
            ..MouseOutcome::handled()
        };
        let popup_row = event.row.checked_sub(self.visible_rows + 2);
        if let (Some(row), Some(popup)) = (popup_row, &mut self.autocomplete.popup)
            && row < self.popup_rows
        {
            let inside = MouseEvent {
                row,
                column: event.column.saturating_sub(padding),
                width: event.width.saturating_sub(padding * 2),
                height: self.popup_rows,
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
}
