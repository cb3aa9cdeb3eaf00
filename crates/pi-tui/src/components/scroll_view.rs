//! A viewport onto a component that is taller than the available space.
//!
//! It owns the scroll position, follow mode and the scrollbar. The renderer sets its height and
//! forwards wheel events; without a height it shows everything.

use std::time::{Duration, Instant};

use super::background::fit;
use crate::component::{Component, InputContext, InputOutcome, MouseOutcome};
use crate::input::{InputEvent, MouseEvent, MouseEventKind};
use crate::line::{Line, Lines};
use crate::style::{Color, Painter, Style};
use crate::text::pad_to_width;

const HIDE_DELAY: Duration = Duration::from_secs(1);

/// Whether new content scrolls the viewport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowMode {
    #[default]
    Off,
    /// Stays at the end as content is added, until the user scrolls up.
    End,
}

/// When the scrollbar is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScrollbarVisibility {
    #[default]
    Hidden,
    /// For a second after scrolling, drawn over the content.
    Auto,
    /// Always, in a separate column.
    Always,
}

#[derive(Clone, Debug)]
pub struct ScrollViewOptions {
    pub follow: FollowMode,
    pub scrollbar: ScrollbarVisibility,
    /// Whether scrolling past an end scrolls the enclosing view.
    pub chain: bool,
    pub track: Painter,
    pub thumb: Painter,
}

impl Default for ScrollViewOptions {
    fn default() -> Self {
        Self {
            follow: FollowMode::Off,
            scrollbar: ScrollbarVisibility::Hidden,
            chain: true,
            track: Style::plain().fg(Color::Indexed(8)).into(),
            thumb: Style::plain().fg(Color::Indexed(7)).into(),
        }
    }
}

/// Shows a part of its child.
pub struct ScrollView {
    child: Box<dyn Component>,
    options: ScrollViewOptions,
    top: usize,
    content_height: usize,
    height: Option<usize>,
    following: bool,
    bar_until: Option<Instant>,
}

impl ScrollView {
    /// Returns a viewport at the start of `child`, or at its end if it follows the end.
    pub fn new(child: impl Component, options: ScrollViewOptions) -> Self {
        Self {
            child: Box::new(child),
            following: options.follow == FollowMode::End,
            options,
            top: 0,
            content_height: 0,
            height: None,
            bar_until: None,
        }
    }

    pub fn child_mut(&mut self) -> &mut dyn Component {
        self.child.as_mut()
    }

    /// Sets the rows of the viewport.
    pub fn set_height(&mut self, height: Option<usize>) {
        self.height = height;
        self.clamp_top();
    }

    /// Returns the first visible row.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Returns the rows of the content as last rendered.
    pub fn content_height(&self) -> usize {
        self.content_height
    }

    /// Whether the viewport is following the end.
    pub fn is_following(&self) -> bool {
        self.following
    }

    /// Makes `row` the first visible row, as far as there is content.
    pub fn scroll_to(&mut self, row: usize, now: Instant) {
        let top = row.min(self.last_top());
        if top != self.top {
            self.top = top;
            self.bar_until = Some(now + HIDE_DELAY);
        }
        self.following = self.options.follow == FollowMode::End && top == self.last_top();
    }

    /// Scrolls by `lines`, down if positive. Returns the remaining lines when an end is reached.
    pub fn scroll_by(&mut self, lines: isize, now: Instant) -> isize {
        let before = self.top;
        self.scroll_to(before.saturating_add_signed(lines), now);
        lines - (self.top.cast_signed() - before.cast_signed())
    }

    pub fn scroll_to_start(&mut self, now: Instant) {
        self.scroll_to(0, now);
    }

    pub fn scroll_to_end(&mut self, now: Instant) {
        self.scroll_to(usize::MAX, now);
    }

    /// Returns when a transient scrollbar disappears.
    pub fn next_tick(&self) -> Option<Instant> {
        self.bar_until
            .filter(|_| self.options.scrollbar == ScrollbarVisibility::Auto)
    }

    /// Hides a transient scrollbar that has expired by `now`. Returns whether a frame is due.
    pub fn tick(&mut self, now: Instant) -> bool {
        let over = self.bar_until.is_some_and(|until| until <= now);
        if over {
            self.bar_until = None;
        }
        over && self.options.scrollbar == ScrollbarVisibility::Auto
    }

    fn last_top(&self) -> usize {
        let height = self.height.unwrap_or(self.content_height);
        self.content_height.saturating_sub(height)
    }

    fn clamp_top(&mut self) {
        if self.following {
            self.top = self.last_top();
        } else {
            self.top = self.top.min(self.last_top());
        }
    }

    /// Returns which rows of the viewport the thumb covers.
    fn thumb(&self, height: usize) -> std::ops::Range<usize> {
        let content = self.content_height.max(1);
        let size = (height * height).div_ceil(content).clamp(1, height.max(1));
        let start = (self.top * height.saturating_sub(size))
            .checked_div(self.last_top())
            .unwrap_or(0);
        start..start + size
    }

    fn with_bar(&self, lines: &[Line], width: usize, height: usize) -> Lines {
        let thumb = self.thumb(height);
        let inside = width.saturating_sub(1);
        (0..height)
            .map(|row| {
                let line = lines.get(row).map_or("", Line::as_str);
                let bar = if thumb.contains(&row) {
                    self.options.thumb.paint("┃")
                } else {
                    self.options.track.paint("│")
                };
                let line = pad_to_width(&fit(line.to_owned(), inside), inside);
                // The line's style must not extend into the scrollbar.
                fit(format!("{line}\x1b[0m{bar}"), width)
            })
            .collect()
    }
}

impl Component for ScrollView {
    fn render(&mut self, width: usize) -> Lines {
        let own_column = self.options.scrollbar == ScrollbarVisibility::Always && width > 1;
        let lines = self.child.render(width - usize::from(own_column));
        self.content_height = lines.len();
        self.clamp_top();
        let Some(height) = self.height else {
            return lines;
        };
        let visible = lines
            .get(self.top..(self.top + height).min(lines.len()))
            .unwrap_or_default();
        let scrollable = self.content_height > height;
        let transient = self.options.scrollbar == ScrollbarVisibility::Auto
            && scrollable
            && self.bar_until.is_some()
            && width > 1;
        if own_column || transient {
            return self.with_bar(visible, width, height);
        }
        if visible.len() == lines.len() {
            return lines;
        }
        visible.to_vec().into()
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.child.handle_input(event, context)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let inside = MouseEvent {
            row: event.row + self.top,
            height: self.content_height,
            ..*event
        };
        let outcome = self.child.handle_mouse(&inside, context);
        if outcome.stops_propagation() {
            return outcome;
        }
        let MouseEventKind::Wheel { lines } = event.kind else {
            return outcome;
        };
        let delta = isize::try_from(lines).unwrap_or(0);
        let remaining = self.scroll_by(delta, context.now);
        if remaining == delta && self.options.chain {
            return MouseOutcome::default();
        }
        MouseOutcome::handled()
    }

    fn invalidate(&mut self) {
        self.child.invalidate();
    }

    fn set_focused(&mut self, focused: bool) {
        self.child.set_focused(focused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::Text;
    use pretty_assertions::assert_eq;

    fn view(rows: usize, options: ScrollViewOptions) -> ScrollView {
        let text: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
        let mut view = ScrollView::new(Text::new(text.join("\n")).padding(0, 0), options);
        view.set_height(Some(3));
        view.render(1);
        view
    }

    #[test]
    fn viewport_stays_within_the_content() {
        let now = Instant::now();
        let mut view = view(5, ScrollViewOptions::default());
        assert_eq!(view.render(1).as_ref(), ["0", "1", "2"]);
        assert_eq!(view.scroll_by(1, now), 0);
        assert_eq!(view.render(1).as_ref(), ["1", "2", "3"]);
        assert_eq!(view.scroll_by(5, now), 4);
        assert_eq!(view.render(1).as_ref(), ["2", "3", "4"]);
        assert_eq!(view.scroll_by(-9, now), -7);
        assert_eq!(view.top(), 0);
    }

    #[test]
    fn end_is_followed_until_the_user_scrolls_up() {
        let now = Instant::now();
        let options = ScrollViewOptions {
            follow: FollowMode::End,
            ..ScrollViewOptions::default()
        };
        let mut view = view(5, options);
        assert_eq!(view.top(), 2);
        view.scroll_by(-1, now);
        assert!(!view.is_following());
        view.scroll_to_end(now);
        assert!(view.is_following());
    }

    #[test]
    fn transient_scrollbar_disappears_after_a_second() {
        let now = Instant::now();
        let options = ScrollViewOptions {
            scrollbar: ScrollbarVisibility::Auto,
            track: Painter::plain(),
            thumb: Painter::plain(),
            ..ScrollViewOptions::default()
        };
        let mut view = view(6, options);
        view.scroll_by(3, now);
        assert_eq!(
            view.render(2).as_ref(),
            ["3\x1b[0m│", "4\x1b[0m┃", "5\x1b[0m┃"]
        );
        assert!(!view.tick(now));
        assert!(view.tick(now + HIDE_DELAY));
        assert_eq!(view.next_tick(), None);
    }

    #[test]
    fn viewport_without_rows_shows_nothing() {
        let options = ScrollViewOptions {
            scrollbar: ScrollbarVisibility::Always,
            ..ScrollViewOptions::default()
        };
        let mut view = view(6, options);
        view.set_height(Some(0));
        assert!(view.render(2).is_empty());
    }
}
