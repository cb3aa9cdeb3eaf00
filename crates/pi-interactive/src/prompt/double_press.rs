//! Detects keys pressed twice in quick succession.

use std::time::{Duration, Instant};

/// Maximum time between the two presses.
const DOUBLE_PRESS_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DoublePress {
    last: Option<Instant>,
}

impl DoublePress {
    /// Records a press; returns whether it completes a double press.
    pub(crate) fn press(&mut self, now: Instant) -> bool {
        let is_second = self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) < DOUBLE_PRESS_INTERVAL);
        self.last = (!is_second).then_some(now);
        is_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_presses_within_half_a_second_are_a_double_press() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut key = DoublePress::default();
        assert!(!key.press(at(0)));
        assert!(key.press(at(499)));
        assert!(!key.press(at(600)), "a completed double press starts over");
        assert!(!key.press(at(1100)), "too late");
        assert!(key.press(at(1200)));
    }
}
