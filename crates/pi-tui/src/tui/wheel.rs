//! How far a step of the mouse wheel scrolls.

use std::time::{Duration, Instant};

/// Lines of a slow step.
const SLOW_LINES: usize = 3;
/// Lines of the fastest step.
const FAST_LINES: usize = 6;
/// Steps closer together than this are one fast spin.
const FAST_INTERVAL: Duration = Duration::from_millis(50);

/// Lines scrolled per wheel event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WheelSpeed {
    /// A fixed number; 0 is treated as 1.
    Lines(usize),
    /// More lines the faster the wheel is turned, for terminals that do not accelerate it themselves.
    Accelerated,
}

impl Default for WheelSpeed {
    fn default() -> Self {
        Self::Lines(1)
    }
}

/// Measures how fast the wheel is turned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WheelSpin {
    /// Time and direction of the last event, and how many lines it scrolled.
    last: Option<(Instant, i32, usize)>,
}

impl WheelSpin {
    /// Returns the lines to scroll for an event.
    pub(super) fn lines(&mut self, speed: WheelSpeed, direction: i32, now: Instant) -> usize {
        let WheelSpeed::Lines(lines) = speed else {
            return self.accelerated(direction, now);
        };
        lines.max(1)
    }

    fn accelerated(&mut self, direction: i32, now: Instant) -> usize {
        let lines = match self.last {
            Some((at, same, lines))
                if same == direction && now.saturating_duration_since(at) < FAST_INTERVAL =>
            {
                (lines + 1).min(FAST_LINES)
            }
            _ => SLOW_LINES,
        };
        self.last = Some((now, direction, lines));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn fast_spins_scroll_further_up_to_a_limit() {
        let start = Instant::now();
        let mut spin = WheelSpin::default();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut step = |direction, milliseconds| {
            spin.lines(WheelSpeed::Accelerated, direction, at(milliseconds))
        };
        let fast: Vec<usize> = (0..6).map(|index| step(1, index * 10)).collect();
        assert_eq!(fast, [3, 4, 5, 6, 6, 6]);
        assert_eq!(step(-1, 60), 3, "another direction");
        assert_eq!(step(-1, 500), 3, "a pause");
    }

    #[test]
    fn a_fixed_speed_does_not_change() {
        let mut spin = WheelSpin::default();
        let now = Instant::now();
        for (lines, expected) in [(0, 1), (7, 7), (7, 7)] {
            assert_eq!(spin.lines(WheelSpeed::Lines(lines), 1, now), expected);
        }
    }
}
