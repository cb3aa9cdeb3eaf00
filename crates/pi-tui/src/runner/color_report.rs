//! Collects the colors that the terminal reports, and delays the first frame until they are known.

use std::time::{Duration, Instant};

use crate::input::TerminalReply;
use crate::terminal::{ColorScheme, TerminalColors};

/// Queries the device attributes, to which every terminal replies, after all other queries.
const SENTINEL: &str = "\x1b[c";

/// What follows from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorUpdate {
    Colors(TerminalColors),
    /// The terminal changed between light and dark; its colors must be queried again.
    Scheme(ColorScheme),
}

#[derive(Debug, Default)]
pub(super) struct ColorReport {
    colors: TerminalColors,
    has_changed: bool,
    /// Whether replies to the last query are pending; they are reported at once.
    awaiting: bool,
    held_until: Option<Instant>,
}

impl ColorReport {
    /// Returns the queries for a start; the caller queries the device attributes after them. The first frame waits
    /// for the reply, at most for `wait`.
    pub(super) fn start(&mut self, wait: Duration, now: Instant) -> String {
        self.awaiting = true;
        self.held_until = (!wait.is_zero()).then(|| now + wait);
        TerminalColors::query()
    }

    /// Returns the queries for a change of colors.
    pub(super) fn query(&mut self) -> String {
        self.awaiting = true;
        format!("{}{SENTINEL}", TerminalColors::query())
    }

    pub(super) fn receive(&mut self, reply: &TerminalReply) -> Option<ColorUpdate> {
        match reply {
            TerminalReply::ColorScheme { .. } => {
                ColorScheme::from_reply(reply).map(ColorUpdate::Scheme)
            }
            TerminalReply::DeviceAttributes(_) => {
                self.awaiting = false;
                self.held_until = None;
                self.take_change()
            }
            reply => {
                self.has_changed |= self.colors.record(reply);
                // Slow terminals and multiplexers may reply late.
                if self.awaiting {
                    None
                } else {
                    self.take_change()
                }
            }
        }
    }

    fn take_change(&mut self) -> Option<ColorUpdate> {
        std::mem::take(&mut self.has_changed).then_some(ColorUpdate::Colors(self.colors))
    }

    /// Returns until when frames wait.
    pub(super) fn held(&self) -> Option<Instant> {
        self.held_until
    }

    pub(super) fn holds_frame(&mut self, now: Instant) -> bool {
        if self.held_until.is_some_and(|until| until <= now) {
            self.held_until = None;
        }
        self.held_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ColorSlot;
    use pretty_assertions::assert_eq;

    fn background(rgb: (u8, u8, u8)) -> TerminalReply {
        TerminalReply::Color {
            slot: ColorSlot::Background,
            rgb,
        }
    }

    #[test]
    fn colors_are_reported_together_and_later_ones_at_once() {
        let now = Instant::now();
        let mut report = ColorReport::default();
        report.start(Duration::from_millis(100), now);
        assert!(report.holds_frame(now));
        assert_eq!(report.receive(&background((1, 1, 1))), None);
        let sentinel = TerminalReply::DeviceAttributes(Vec::new());
        let colors = |rgb| TerminalColors {
            background: Some(rgb),
            ..TerminalColors::default()
        };
        assert_eq!(
            report.receive(&sentinel),
            Some(ColorUpdate::Colors(colors((1, 1, 1))))
        );
        assert!(!report.holds_frame(now));
        assert_eq!(report.receive(&background((1, 1, 1))), None, "unchanged");
        assert_eq!(
            report.receive(&background((2, 2, 2))),
            Some(ColorUpdate::Colors(colors((2, 2, 2))))
        );
    }

    #[test]
    fn a_silent_terminal_delays_the_first_frame_only_for_a_while() {
        let now = Instant::now();
        let mut report = ColorReport::default();
        let wait = Duration::from_millis(100);
        report.start(wait, now);
        assert!(report.holds_frame(now));
        assert!(!report.holds_frame(now + wait));
        assert!(!report.holds_frame(now), "the wait is over");
    }

    #[test]
    fn a_changed_scheme_queries_the_colors_again() {
        let mut report = ColorReport::default();
        let notice = TerminalReply::ColorScheme { dark: false };
        assert_eq!(
            report.receive(&notice),
            Some(ColorUpdate::Scheme(ColorScheme::Light))
        );
        assert!(report.query().ends_with(SENTINEL));
    }
}
