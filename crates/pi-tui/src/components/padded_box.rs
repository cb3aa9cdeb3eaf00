//! A container with padding and a background.

use super::background::BackgroundFill;
use super::container::Container;
use super::text::horizontal_padding;
use crate::component::{Component, InputContext, MouseOutcome};
use crate::input::MouseEvent;
use crate::line::{Line, Lines};
use crate::style::Painter;

/// Shows its children vertically, padded, on a background.
pub struct PaddedBox {
    children: Container,
    padding_x: usize,
    padding_y: usize,
    background: Option<Painter>,
    fill: BackgroundFill,
    lines: Option<Lines>,
}

impl PaddedBox {
    /// Returns an empty box with one column and one row of padding.
    pub fn new() -> Self {
        Self {
            children: Container::new(),
            padding_x: 1,
            padding_y: 1,
            background: None,
            fill: BackgroundFill::default(),
            lines: None,
        }
    }

    /// Sets the padding: columns left and right, rows above and below.
    #[must_use]
    pub fn padding(mut self, columns: usize, rows: usize) -> Self {
        self.padding_x = columns;
        self.padding_y = rows;
        self
    }

    #[must_use]
    pub fn background(mut self, painter: impl Into<Painter>) -> Self {
        self.background = Some(painter.into());
        self
    }

    pub fn set_background(&mut self, painter: Option<Painter>) {
        self.background = painter;
    }

    pub fn children(&mut self) -> &mut Container {
        &mut self.children
    }

    fn layout(&self, width: usize, padding: usize) -> Lines {
        let content = self.children.child_lines();
        if width == 0 || content.iter().all(|part| part.is_empty()) {
            return Lines::empty();
        }
        let margin = " ".repeat(padding);
        let blank = self.fill.line("", width);
        let edge = std::iter::repeat_n(blank, self.padding_y);
        let inside: Vec<Line> = content
            .iter()
            .flatten()
            .map(|line| self.fill.line(&format!("{margin}{line}"), width))
            .collect();
        edge.clone().chain(inside).chain(edge).collect()
    }
}

impl Default for PaddedBox {
    fn default() -> Self {
        Self::new()
    }
}

impl Component for PaddedBox {
    fn render(&mut self, width: usize) -> Lines {
        let padding = horizontal_padding(self.padding_x, width);
        let changed = self
            .children
            .render_children(width.saturating_sub(padding * 2));
        // A painter may depend on the theme, so compare its sequences, not its identity.
        let fill = self
            .background
            .as_ref()
            .map(BackgroundFill::of)
            .unwrap_or_default();
        if let Some(lines) = &self.lines
            && !changed
            && fill == self.fill
        {
            return lines.clone();
        }
        self.fill = fill;
        let lines = self.layout(width, padding);
        self.lines = Some(lines.clone());
        lines
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let padding = horizontal_padding(self.padding_x, event.width);
        let width = event.width.saturating_sub(padding * 2);
        let (Some(column), Some(row)) = (
            event.column.checked_sub(padding),
            event.row.checked_sub(self.padding_y),
        ) else {
            return MouseOutcome::default();
        };
        if column >= width {
            return MouseOutcome::default();
        }
        let inside = MouseEvent {
            column,
            row,
            width,
            ..*event
        };
        self.children.dispatch_mouse(&inside, context)
    }

    fn invalidate(&mut self) {
        self.lines = None;
        self.children.invalidate();
    }
}
