//! Which part of the transcript a full screen shows.

use super::document::Change;

/// Lines that stay in view when a page is turned.
const PAGE_OVERLAP: usize = 4;

/// A window on the transcript; at its end it follows what is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Viewport {
    top: usize,
    height: usize,
    total: usize,
    follows: bool,
}

impl Default for Viewport {
    fn default() -> Self {
        Self {
            top: 0,
            height: 0,
            total: 0,
            follows: true,
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

    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    fn last_top(&self) -> usize {
        self.total.saturating_sub(self.height)
    }

    /// Takes new measures into account.
    pub(super) fn fit(&mut self, height: usize, total: usize) {
        (self.height, self.total) = (height, total);
        if self.follows {
            self.top = self.last_top();
        }
        self.top = self.top.min(self.last_top());
    }

    /// Keeps the lines in view in place while others come and go above them.
    pub(super) fn follow(&mut self, changes: &[Change]) {
        if !self.follows {
            self.top = changes
                .iter()
                .fold(self.top, |top, change| change.shift(top));
        }
    }

    /// Shows the transcript from `line` on.
    pub(crate) fn scroll_to(&mut self, line: usize) {
        self.top = line.min(self.last_top());
        self.follows = self.top == self.last_top();
    }

    /// Begins with what stands from `line` on, whatever the measures turn out to be.
    pub(crate) fn begin_at(&mut self, line: usize) {
        self.top = line;
        self.follows = false;
    }

    /// Moves by lines; negative is up.
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
        self.follows = true;
        self.top = self.last_top();
    }

    /// Scrolls so that `line` is in view, a third from the top if it was not.
    pub(crate) fn reveal(&mut self, line: usize) {
        if !(self.top..self.top + self.height).contains(&line) {
            self.scroll_to(line.saturating_sub(self.height / 3));
        }
        self.follows = false;
    }

    /// Returns the rows of the scrollbar's thumb, if there is more than fits.
    pub(crate) fn thumb(&self) -> Option<std::ops::Range<usize>> {
        if self.total <= self.height || self.height == 0 {
            return None;
        }
        let length = (self.height * self.height / self.total).clamp(1, self.height);
        let free = self.height - length;
        let start = (self.top * free).div_ceil(self.last_top().max(1)).min(free);
        Some(start..start + length)
    }

    /// Returns the top line that puts the thumb's start at `row`.
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
        viewport.fit(10, 100);
        viewport
    }

    #[test]
    fn it_follows_the_end_until_scrolled_away_and_again_once_back() {
        let mut viewport = viewport();
        assert_eq!(viewport.top(), 90);
        viewport.scroll_by(-viewport.page());
        assert_eq!((viewport.top(), viewport.follows()), (84, false));
        viewport.fit(10, 200);
        assert_eq!(viewport.top(), 84);
        viewport.scroll_by(isize::MAX);
        assert_eq!((viewport.top(), viewport.follows()), (190, true));
        viewport.fit(10, 201);
        assert_eq!(viewport.top(), 191);
    }

    #[test]
    fn lines_in_view_stay_when_lines_above_change() {
        let mut viewport = viewport();
        viewport.scroll_to(50);
        viewport.follow(&[Change {
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
        viewport.fit(10, 10);
        assert_eq!(viewport.thumb(), None);
    }

    #[test]
    fn a_match_out_of_view_is_shown_a_third_from_the_top() {
        let mut viewport = viewport();
        viewport.reveal(95);
        assert_eq!((viewport.top(), viewport.follows()), (90, false));
        viewport.reveal(30);
        assert_eq!(viewport.top(), 27);
    }
}
