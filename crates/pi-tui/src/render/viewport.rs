//! The part of the transcript shown in full-screen mode.

use super::document::LineChange;

/// Lines that stay visible when scrolling by a page.
const PAGE_OVERLAP: usize = 4;

/// A window onto the transcript. At the end, it follows new lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Viewport {
    top: usize,
    height: usize,
    total: usize,
    follows_end: bool,
}

impl Default for Viewport {
    fn default() -> Self {
        Self {
            top: 0,
            height: 0,
            total: 0,
            follows_end: true,
        }
    }
}

impl Viewport {
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn follows_end(&self) -> bool {
        self.follows_end
    }

    fn last_top(&self) -> usize {
        self.total.saturating_sub(self.height)
    }

    pub(super) fn set_dimensions(&mut self, height: usize, total: usize) {
        (self.height, self.total) = (height, total);
        if self.follows_end {
            self.top = self.last_top();
        }
        self.top = self.top.min(self.last_top());
    }

    /// Keeps the visible lines in place while lines above them are added or removed.
    pub(super) fn apply_changes(&mut self, changes: &[LineChange]) {
        if !self.follows_end {
            self.top = changes
                .iter()
                .fold(self.top, |top, change| change.shift(top));
        }
    }

    /// Makes `line` the first visible line.
    pub(crate) fn scroll_to(&mut self, line: usize) {
        self.top = line.min(self.last_top());
        self.follows_end = self.top == self.last_top();
    }

    /// Starts at `line`, before the dimensions are known.
    pub(crate) fn begin_at(&mut self, line: usize) {
        self.top = line;
        self.follows_end = false;
    }

    /// Scrolls by lines; negative is up.
    pub(crate) fn scroll_by(&mut self, lines: isize) {
        self.scroll_to(self.top.saturating_add_signed(lines));
    }

    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(PAGE_OVERLAP).max(1)).unwrap_or(isize::MAX)
    }

    pub(crate) fn half_page(&self) -> isize {
        isize::try_from((self.height / 2).max(1)).unwrap_or(isize::MAX)
    }

    pub(crate) fn scroll_to_end(&mut self) {
        self.follows_end = true;
        self.top = self.last_top();
    }

    /// Scrolls until `line` is visible, a third from the top if it was not.
    pub(crate) fn reveal(&mut self, line: usize) {
        if !(self.top..self.top + self.height).contains(&line) {
            self.scroll_to(line.saturating_sub(self.height / 3));
        }
        self.follows_end = false;
    }

    /// Returns the rows of the scrollbar thumb, if the content does not fit.
    pub(crate) fn thumb(&self) -> Option<std::ops::Range<usize>> {
        if self.total <= self.height || self.height == 0 {
            return None;
        }
        let length = (self.height * self.height / self.total).clamp(1, self.height);
        let free = self.height - length;
        let start = (self.top * free).div_ceil(self.last_top().max(1)).min(free);
        Some(start..start + length)
    }

    /// Returns the top line that puts the start of the thumb at `row`.
    pub(crate) fn top_for_thumb(&self, row: usize) -> usize {
        let length = self.thumb().map_or(self.height, |thumb| thumb.len());
        let free = self.height.saturating_sub(length).max(1);
        row.min(free) * self.last_top() / free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewport() -> Viewport {
        let mut viewport = Viewport::default();
        viewport.set_dimensions(10, 100);
        viewport
    }

    #[test]
    fn viewport_follows_the_end_unless_scrolled_away() {
        let mut viewport = viewport();
        assert_eq!(viewport.top(), 90);
        viewport.scroll_by(-viewport.page());
        assert_eq!((viewport.top(), viewport.follows_end()), (84, false));
        viewport.set_dimensions(10, 200);
        assert_eq!(viewport.top(), 84);
        viewport.scroll_by(isize::MAX);
        assert_eq!((viewport.top(), viewport.follows_end()), (190, true));
        viewport.set_dimensions(10, 201);
        assert_eq!(viewport.top(), 191);
    }

    #[test]
    fn visible_lines_stay_when_lines_above_change() {
        let mut viewport = viewport();
        viewport.scroll_to(50);
        viewport.apply_changes(&[LineChange {
            start: 10,
            old: 5,
            new: 8,
        }]);
        assert_eq!(viewport.top(), 53);
    }

    #[test]
    fn the_thumb_spans_the_bar() {
        let mut viewport = viewport();
        assert_eq!(viewport.thumb(), Some(9..10));
        viewport.scroll_to(0);
        assert_eq!(viewport.thumb(), Some(0..1));
        assert_eq!(viewport.top_for_thumb(9), 90);
        viewport.set_dimensions(10, 10);
        assert_eq!(viewport.thumb(), None);
    }

    #[test]
    fn a_hidden_line_is_revealed_a_third_from_the_top() {
        let mut viewport = viewport();
        viewport.reveal(95);
        assert_eq!((viewport.top(), viewport.follows_end()), (90, false));
        viewport.reveal(30);
        assert_eq!(viewport.top(), 27);
    }
}
