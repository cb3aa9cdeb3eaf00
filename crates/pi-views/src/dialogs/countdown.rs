//! The countdown of a question with a timeout.

use std::time::{Duration, Instant};

/// Counts down the seconds to a deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Countdown {
    deadline: Instant,
    now: Instant,
}

impl Countdown {
    /// Starts the countdown; `None` without a timeout.
    pub(super) fn start(timeout: Option<Duration>, now: Instant) -> Option<Self> {
        let timeout = timeout.filter(|timeout| !timeout.is_zero())?;
        Some(Self {
            deadline: now.checked_add(timeout)?,
            now,
        })
    }

    /// Returns the remaining seconds, rounded up.
    pub(super) fn seconds_left(&self) -> u64 {
        self.left()
            .as_millis()
            .div_ceil(1_000)
            .try_into()
            .unwrap_or(u64::MAX)
    }

    /// Returns when the number of seconds changes next.
    pub(super) fn next_tick(&self) -> Instant {
        let ahead = Duration::from_secs(self.seconds_left().saturating_sub(1));
        self.deadline.checked_sub(ahead).unwrap_or(self.deadline)
    }

    /// Advances to `now`; returns whether the time is up.
    pub(super) fn advance(&mut self, now: Instant) -> bool {
        self.now = self.now.max(now);
        self.now >= self.deadline
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_every_second_and_ends_at_the_deadline() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut countdown = Countdown::start(Some(Duration::from_millis(2_500)), start).unwrap();
        assert_eq!(
            (countdown.seconds_left(), countdown.next_tick()),
            (3, after(500))
        );
        assert!(!countdown.advance(after(500)));
        assert_eq!(
            (countdown.seconds_left(), countdown.next_tick()),
            (2, after(1_500))
        );
        assert!(!countdown.advance(after(1_700)));
        assert_eq!(
            (countdown.seconds_left(), countdown.next_tick()),
            (1, after(2_500))
        );
        assert!(countdown.advance(after(2_500)));
    }

    #[test]
    fn no_timeout_means_no_countdown() {
        assert!(Countdown::start(None, Instant::now()).is_none());
        assert!(Countdown::start(Some(Duration::ZERO), Instant::now()).is_none());
    }
}
