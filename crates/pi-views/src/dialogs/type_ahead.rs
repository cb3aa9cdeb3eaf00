//! Keeps input that was not meant for a question from answering it.
//!
//! A question may appear while the user types or pastes. Its first answer therefore has to follow a pause
//! after the question is shown, and no answer is taken from input that arrives faster than a person types.

use std::time::{Duration, Instant};

/// Pause without input that has to precede the first answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Smallest time between two events of a person.
const MIN_INTERVAL: Duration = Duration::from_millis(30);

#[derive(Debug, Default)]
pub(super) struct TypeAheadGuard {
    /// When the question was first painted.
    shown: Option<Instant>,
    last_input: Option<Instant>,
    /// Whether the pause was observed.
    is_open: bool,
}

impl TypeAheadGuard {
    /// Records that the question is on the screen.
    pub(super) fn painted(&mut self, now: Instant) {
        self.shown.get_or_insert(now);
    }

    /// Records input; returns whether it may answer the question.
    pub(super) fn accepts(&mut self, now: Instant) -> bool {
        let last = self.last_input.replace(now);
        let Some(shown) = self.shown else {
            return false;
        };
        let since = |earlier: Instant| now.saturating_duration_since(earlier);
        self.is_open |= since(shown) >= PAUSE && last.is_none_or(|last| since(last) >= PAUSE);
        self.is_open && last.is_none_or(|last| since(last) >= MIN_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of the inputs at these milliseconds are accepted, if the question is painted at 1000.
    fn accepted(inputs: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let at = |time: u64| start + Duration::from_millis(time);
        let mut guard = TypeAheadGuard::default();
        let mut accepted = Vec::new();
        for time in inputs {
            if *time >= 1000 {
                guard.painted(at(1000));
            }
            if guard.accepts(at(*time)) {
                accepted.push(*time);
            }
        }
        accepted
    }

    #[test]
    fn an_answer_follows_a_pause_after_the_question() {
        assert_eq!(accepted(&[1500, 1600]), [1500, 1600]);
        assert_eq!(accepted(&[990, 1000, 1050, 1499]), [0; 0]);
        assert_eq!(accepted(&[990, 1499, 1998]), [0; 0]);
        assert_eq!(accepted(&[990, 1499, 1999]), [1999]);
    }

    #[test]
    fn text_that_arrives_at_once_does_not_answer() {
        assert_eq!(accepted(&[2000, 2001, 2002]), [2000]);
        assert_eq!(accepted(&[2000, 2001, 2500]), [2000, 2500]);
    }
}
