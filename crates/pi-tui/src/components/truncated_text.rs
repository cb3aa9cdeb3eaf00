//! A single line of text, truncated to the width.

use super::background::{ellipsize, fit};
use super::text::horizontal_padding;
use crate::component::Component;
use crate::line::{Line, Lines};
use crate::text::pad_to_width;

/// The first line of a text, truncated with an ellipsis.
#[derive(Clone, Debug, Default)]
pub struct TruncatedText {
    text: String,
    padding_x: usize,
    padding_y: usize,
    cache: Option<(usize, Lines)>,
}

impl TruncatedText {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
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

    pub fn set_text(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cache = None;
    }

    fn layout(&self, width: usize) -> Lines {
        let padding = horizontal_padding(self.padding_x, width);
        let first = self.text.lines().next().unwrap_or_default();
        let shown = ellipsize(first, width - padding * 2);
        let line = pad_to_width(&format!("{}{shown}", " ".repeat(padding)), width);
        let blank = std::iter::repeat_n(Line::from(" ".repeat(width)), self.padding_y);
        blank
            .clone()
            .chain([fit(line, width)])
            .chain(blank)
            .collect()
    }
}

impl Component for TruncatedText {
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
