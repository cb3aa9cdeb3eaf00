//! Messages that stand in a corner of a full screen for a moment.

use std::time::{Duration, Instant};

use super::Tui;
use crate::line::Line;
use crate::overlay::{CellRect, lay_over};
use crate::text::{TruncateOptions, sanitize, truncate_to_width, visible_width};

/// How long a message that needs no attention stays.
pub(super) const SHORT: Duration = Duration::from_secs(1);

/// The messages in view, the newest last, each with the time it goes.
#[derive(Debug, Default)]
pub(super) struct Flashes {
    messages: Vec<(String, Instant)>,
}

impl Flashes {
    pub(super) fn any(&self) -> bool {
        !self.messages.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.messages.iter().map(|(_, until)| *until).min()
    }

    /// Drops what has had its time; returns whether something had.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let before = self.messages.len();
        self.messages.retain(|(_, until)| *until > now);
        self.messages.len() < before
    }

    /// Lays the messages over the right end of the first rows.
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
            *line = lay_over(line, &message, bounds, columns);
        }
    }
}

impl Tui {
    /// Shows a message in a corner of a full screen for a while.
    pub fn flash(&mut self, message: &str, duration: Duration, now: Instant) {
        let message = sanitize(message).replace(['\r', '\n'], " ");
        self.flashes.messages.push((message, now + duration));
    }
}
