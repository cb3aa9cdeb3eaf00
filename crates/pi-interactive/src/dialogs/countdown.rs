//! The time a question waits for its answer.

use std::time::{Duration, Instant};

/// Counts seconds down to a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Countdown {
    deadline: Instant,
    now: Instant,
}

impl Countdown {
    /// Starts now; nothing if there is no time to wait for.
    pub(super) fn start(timeout: Option<Duration>, now: Instant) -> Option<Self> {
        let timeout = timeout.filter(|timeout| !timeout.is_zero())?;
        Some(Self {
            deadline: now.checked_add(timeout)?,
            now,
        })
    }

    /// Returns the whole seconds that are left, begun ones included.
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

    /// Goes on to `now`; returns whether the time is over.
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
    fn it_ticks_when_the_second_changes_and_ends_in_time() {
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
    fn no_time_means_no_countdown() {
        assert!(Countdown::start(None, Instant::now()).is_none());
        assert!(Countdown::start(Some(Duration::ZERO), Instant::now()).is_none());
    }
}
