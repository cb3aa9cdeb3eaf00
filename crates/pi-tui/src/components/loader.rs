//! A spinner with a message.
//!
//! It owns no timer: the owner queries when the next frame is due and passes the time.

use std::time::{Duration, Instant};

use super::text::Text;
use crate::component::Component;
use crate::line::{Line, Lines};
use crate::style::Painter;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL: Duration = Duration::from_millis(80);

/// The animated part of a [`Loader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderIndicator {
    /// The animation frames. An empty list hides the indicator; a single frame does not animate.
    pub frames: Vec<String>,
    /// How long each frame is shown.
    pub interval: Duration,
}

#[derive(Clone, Debug, Default)]
pub struct LoaderTheme {
    /// Used for the default indicator only.
    pub indicator: Painter,
    pub message: Painter,
}

/// An animated indicator and a message, below an empty line.
#[derive(Debug)]
pub struct Loader {
    theme: LoaderTheme,
    message: String,
    custom: Option<LoaderIndicator>,
    frame: usize,
    due: Option<Instant>,
    text: Text,
    cache: Option<(usize, Lines)>,
}

impl Loader {
    pub fn new(theme: LoaderTheme, message: impl Into<String>) -> Self {
        let mut loader = Self {
            theme,
            message: message.into(),
            custom: None,
            frame: 0,
            due: None,
            text: Text::new("").padding(1, 0),
            cache: None,
        };
        loader.refresh();
        loader
    }

    pub fn set_message(&mut self, message: impl Into<String>) {
        self.message = message.into();
        self.refresh();
    }

    /// Replaces the indicator, which is shown unstyled; `None` restores the default.
    pub fn set_indicator(&mut self, indicator: Option<LoaderIndicator>) {
        self.custom = indicator;
        self.frame = 0;
        self.due = None;
        self.refresh();
    }

    /// Returns when the frame changes next, or `None` if it never does or [`tick`](Self::tick) has
    /// not been called yet.
    pub fn next_tick(&self) -> Option<Instant> {
        self.due
    }

    /// Advances the animation to `now`. Returns whether the frame changed.
    pub fn tick(&mut self, now: Instant) -> bool {
        let (count, interval) = match &self.custom {
            Some(custom) => (custom.frames.len(), custom.interval),
            None => (FRAMES.len(), INTERVAL),
        };
        if count <= 1 {
            self.due = None;
            return false;
        }
        let interval = interval.max(Duration::from_millis(1));
        let Some(due) = self.due else {
            self.due = Some(now + interval);
            return false;
        };
        if now < due {
            return false;
        }
        let passed = (now - due).as_nanos() / interval.as_nanos() + 1;
        let steps = usize::try_from(passed % count as u128).unwrap_or(1);
        self.frame = (self.frame + steps) % count;
        self.due = Some(now + interval);
        self.refresh();
        true
    }

    fn refresh(&mut self) {
        let frame = match &self.custom {
            Some(custom) => custom.frames.get(self.frame).cloned().unwrap_or_default(),
            None => self
                .theme
                .indicator
                .paint(FRAMES.get(self.frame).copied().unwrap_or_default()),
        };
        let gap = if frame.is_empty() { "" } else { " " };
        let message = self.theme.message.paint(&self.message);
        self.text.set_text(format!("{frame}{gap}{message}"));
        self.cache = None;
    }
}

impl Component for Loader {
    fn render(&mut self, width: usize) -> Lines {
        if let Some((cached_width, lines)) = &self.cache
            && *cached_width == width
        {
            return lines.clone();
        }
        let text = self.text.render(width);
        let lines: Lines = std::iter::once(&Line::default())
            .chain(&text)
            .cloned()
            .collect();
        self.cache = Some((width, lines.clone()));
        lines
    }

    fn invalidate(&mut self) {
        self.text.invalidate();
        self.refresh();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn frame_changes_every_eighty_milliseconds() {
        let mut loader = Loader::new(LoaderTheme::default(), "Working");
        let start = Instant::now();
        assert!(!loader.tick(start));
        assert_eq!(loader.next_tick(), Some(start + INTERVAL));
        assert!(!loader.tick(start + Duration::from_millis(79)));
        assert!(loader.tick(start + INTERVAL));
        assert_eq!(loader.render(12).as_ref(), ["", " ⠙ Working  "]);
        assert!(loader.tick(start + INTERVAL * 4));
        assert_eq!(loader.render(12).as_ref(), ["", " ⠼ Working  "]);
    }

    #[test]
    fn single_frame_indicators_never_tick() {
        let mut loader = Loader::new(LoaderTheme::default(), "Working");
        loader.set_indicator(Some(LoaderIndicator {
            frames: vec!["*".to_owned()],
            interval: INTERVAL,
        }));
        assert!(!loader.tick(Instant::now()));
        assert_eq!(loader.next_tick(), None);
        loader.set_indicator(Some(LoaderIndicator {
            frames: Vec::new(),
            interval: INTERVAL,
        }));
        assert_eq!(loader.render(10).as_ref(), ["", " Working  "]);
    }
}
