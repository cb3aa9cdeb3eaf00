//! Which rows of the text are on the screen.

use std::ops::Range;

const DEFAULT_ROWS: usize = 24;

#[derive(Debug)]
pub(super) struct EditorViewport {
    /// Rows of the terminal.
    pub(super) terminal_rows: usize,
    /// The first visible row of the text.
    pub(super) first_row: usize,
    pub(super) visible_rows: usize,
    /// Rows of the completion popup.
    pub(super) popup_rows: usize,
}

impl Default for EditorViewport {
    fn default() -> Self {
        Self {
            terminal_rows: DEFAULT_ROWS,
            first_row: 0,
            visible_rows: 1,
            popup_rows: 0,
        }
    }
}

impl EditorViewport {
    /// Returns the maximum number of text rows: 30 % of the terminal, at least five.
    pub(super) fn max_rows(&self) -> usize {
        (self.terminal_rows * 3 / 10).max(5)
    }

    /// Scrolls a row into view and returns the rows to show, of which the last may not exist.
    pub(super) fn scroll_to(&mut self, row: usize, total: usize) -> Range<usize> {
        let max = self.max_rows();
        let first = self.first_row.min(row).max((row + 1).saturating_sub(max));
        self.first_row = first.min(total.saturating_sub(max));
        self.first_row..self.first_row + max
    }

    /// Returns how many of the rows are hidden above and below.
    pub(super) fn hidden_rows(&self, total: usize) -> (usize, usize) {
        let shown_up_to = self.first_row + self.visible_rows;
        (self.first_row, total.saturating_sub(shown_up_to))
    }
}
