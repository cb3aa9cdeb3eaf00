//! The progress indicator that some terminals show in the tab or task bar (OSC 9;4).

use std::time::{Duration, Instant};

/// Terminals drop the indicator after a while, in case a program crashed; it is sent again this
/// often.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
const ACTIVE: &str = "\x1b]9;4;3\x07";
const CLEAR: &str = "\x1b]9;4;0\x07";

#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalProgress {
    next: Option<Instant>,
}

impl TerminalProgress {
    /// Shows or clears the indicator. Returns the bytes to write.
    pub fn set(&mut self, active: bool, now: Instant) -> &'static str {
        match (active, self.next) {
            (true, _) => {
                self.next = Some(now + KEEP_ALIVE);
                ACTIVE
            }
            (false, Some(_)) => {
                self.next = None;
                CLEAR
            }
            (false, None) => "",
        }
    }

    /// Returns when [`tick`](Self::tick) is due, if the indicator is active.
    pub fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the bytes to write at `now` to keep the indicator.
    pub fn tick(&mut self, now: Instant) -> &'static str {
        match self.next {
            Some(next) if next <= now => self.set(true, now),
            Some(_) | None => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indicator_is_kept_alive_and_cleared_once() {
        let start = Instant::now();
        let mut progress = TerminalProgress::default();
        assert_eq!(progress.set(false, start), "");
        assert_eq!(progress.set(true, start), ACTIVE);
        assert_eq!(progress.tick(start), "");
        assert_eq!(progress.tick(start + KEEP_ALIVE), ACTIVE);
        assert_eq!(progress.set(false, start + KEEP_ALIVE), CLEAR);
        assert_eq!(progress.deadline(), None);
    }
}
