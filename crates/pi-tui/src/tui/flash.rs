//! Messages shown briefly in a corner in full-screen mode.

use std::time::{Duration, Instant};

use super::Tui;
use crate::line::Line;
use crate::overlay::{CellRect, compose_line};
use crate::text::{TruncateOptions, sanitize, truncate_to_width, visible_width};

/// Display time of a message that does not need attention.
pub(super) const SHORT_DURATION: Duration = Duration::from_secs(1);

/// The visible messages, newest last, each with its expiration time.
#[derive(Debug, Default)]
pub(super) struct Flashes {
    messages: Vec<(String, Instant)>,
}

impl Flashes {
    pub(super) fn push(&mut self, message: &str, until: Instant) {
        let message = sanitize(message).replace(['\r', '\n'], " ");
        self.messages.push((message, until));
    }

    pub(super) fn is_active(&self) -> bool {
        !self.messages.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.messages.iter().map(|(_, until)| *until).min()
    }

    /// Removes expired messages. Returns whether any were removed.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let before = self.messages.len();
        self.messages.retain(|(_, until)| *until > now);
        self.messages.len() < before
    }

    /// Draws the messages over the right end of the first rows.
    pub(super) fn compose(&self, screen: &mut [Line], columns: usize) {
        let hidden = self.messages.len().saturating_sub(screen.len());
        let newest = self.messages.iter().skip(hidden);
        for (row, ((message, _), line)) in newest.zip(screen).enumerate() {
            let options = TruncateOptions::default();
            let message = truncate_to_width(&format!(" {message} "), columns, options).into_owned();
            let width = visible_width(&message);
            let bounds = CellRect {
                row,
                column: columns - width,
                width,
                height: 1,
            };
            let message = Line::from(format!("\x1b[7m{message}\x1b[27m"));
            *line = compose_line(line, &message, bounds, columns);
        }
    }
}

impl Tui {
    /// Shows a message in the corner for `duration`, in full-screen mode.
    pub fn flash(&mut self, message: &str, duration: Duration, now: Instant) {
        self.flashes.push(message, now + duration);
    }
}
