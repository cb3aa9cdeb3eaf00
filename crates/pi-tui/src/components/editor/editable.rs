//! The text of an editor as one unit: content, visual lines, undo steps and kill ring. It knows
//! neither keys nor completions nor the screen.

use super::buffer::{Buffer, TextPosition};
use super::cursor::StickyColumn;
use super::kill_ring::KillRing;
use super::layout::{EditorLayout, VisualLine};
use super::undo::{LastAction, UndoStack};
use crate::component::CURSOR_MARKER;
use crate::components::background::fit;
use crate::line::Line;
use crate::text::pad_to_width;

const DEFAULT_WIDTH: usize = 80;

/// Text with a cursor. Edits are in `edit.rs`, cursor movement is in `movement.rs`.
#[derive(Debug)]
pub(super) struct EditableText {
    pub(super) buffer: Buffer,
    pub(super) layout: EditorLayout,
    layout_width: usize,
    pub(super) sticky: StickyColumn,
    pub(super) last: LastAction,
    pub(super) undo: UndoStack<Buffer>,
    pub(super) kill_ring: KillRing,
    pub(super) yanked_at: TextPosition,
}

impl Default for EditableText {
    fn default() -> Self {
        Self {
            buffer: Buffer::default(),
            layout: EditorLayout::default(),
            layout_width: DEFAULT_WIDTH,
            sticky: StickyColumn::default(),
            last: LastAction::default(),
            undo: UndoStack::default(),
            kill_ring: KillRing::default(),
            yanked_at: TextPosition::default(),
        }
    }
}

impl EditableText {
    /// Breaks the lines for a width.
    pub(super) fn set_width(&mut self, width: usize) {
        self.layout_width = width;
        self.update_layout();
    }

    pub(super) fn update_layout(&mut self) {
        self.layout.update(&self.buffer, self.layout_width);
    }

    /// Returns the visual line of the cursor.
    pub(super) fn cursor_row(&self) -> usize {
        self.layout.index_of(self.buffer.cursor)
    }

    /// Returns the text with large pastes expanded.
    pub(super) fn expanded(&self) -> String {
        self.buffer.pastes.expand(&self.buffer.text())
    }

    /// Draws a visual line, with the cursor if it is there.
    pub(super) fn draw_line(
        &self,
        line: &VisualLine,
        width: usize,
        padding: usize,
        focused: bool,
    ) -> Line {
        let margin = " ".repeat(padding);
        let text = self.buffer.line_at(line.line);
        let part = text.get(line.range.clone()).unwrap_or_default();
        let cursor = self.buffer.cursor;
        let here = cursor.line == line.line
            && cursor.offset >= line.range.start
            && (cursor.offset < line.range.end || line.ends_line);
        let shown = if here {
            self.with_cursor(part, cursor.offset - line.range.start, focused)
        } else {
            part.to_owned()
        };
        fit(pad_to_width(&format!("{margin}{shown}"), width), width)
    }

    fn with_cursor(&self, part: &str, offset: usize, focused: bool) -> String {
        let (before, after) = part.split_at_checked(offset).unwrap_or((part, ""));
        let length = (self.buffer.atom_end() - self.buffer.cursor.offset).min(after.len());
        let (under, rest) = after.split_at_checked(length).unwrap_or((after, ""));
        let under = if under.is_empty() { " " } else { under };
        let marker = if focused { CURSOR_MARKER } else { "" };
        format!("{before}{marker}\x1b[7m{under}\x1b[27m{rest}")
    }
}
