//! Wrapped text with padding and an optional background.

use super::background::BackgroundFill;
use crate::component::Component;
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::text::wrap_text;

/// Text wrapped to the width.
///
/// The text may contain styles. Sanitize untrusted text before passing it in.
#[derive(Clone, Debug, Default)]
pub struct Text {
    content: String,
    padding_x: usize,
    padding_y: usize,
    background: Option<Painter>,
    cache: Option<(usize, Lines)>,
}

impl Text {
    /// Returns text with one column and one row of padding.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            content: text.into(),
            padding_x: 1,
            padding_y: 1,
            background: None,
            cache: None,
        }
    }

    /// Sets the padding: columns left and right, rows above and below.
    #[must_use]
    pub fn padding(mut self, columns: usize, rows: usize) -> Self {
        self.padding_x = columns;
        self.padding_y = rows;
        self.cache = None;
        self
    }

    /// Sets a background that fills the lines.
    #[must_use]
    pub fn background(mut self, painter: impl Into<Painter>) -> Self {
        self.set_background(Some(painter.into()));
        self
    }

    pub fn set_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if text != self.content {
            self.content = text;
            self.cache = None;
        }
    }

    pub fn set_background(&mut self, painter: Option<Painter>) {
        self.background = painter;
        self.cache = None;
    }

    fn layout(&self, width: usize) -> Lines {
        if self.content.trim().is_empty() || width == 0 {
            return Lines::empty();
        }
        let fill = self
            .background
            .as_ref()
            .map(BackgroundFill::of)
            .unwrap_or_default();
        let padding = horizontal_padding(self.padding_x, width);
        let margin = " ".repeat(padding);
        let content_width = width - padding * 2;
        let blank = fill.line("", width);
        let above = std::iter::repeat_n(blank, self.padding_y);
        let content: Vec<Line> = wrap_text(&self.content, content_width)
            .iter()
            .map(|line| fill.line(&format!("{margin}{line}"), width))
            .collect();
        above.clone().chain(content).chain(above).collect()
    }
}

/// Returns the padding, reduced so that at least one column remains for content.
pub fn horizontal_padding(requested: usize, width: usize) -> usize {
    requested.min(width.saturating_sub(1) / 2)
}

impl Component for Text {
    fn render(&mut self, width: usize) -> Lines {
        if let Some((cached_width, lines)) = &self.cache
            && *cached_width == width
        {
            return lines.clone();
        }
        let lines = self.layout(width);
        self.cache = Some((width, lines.clone()));
        lines
    }

    fn invalidate(&mut self) {
        self.cache = None;
    }
}
