//! When to paint: requests are gathered to at most about sixty frames a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::tui::FrameUrgency;

/// The shortest time between two frames nobody waits for.
pub const FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// Decides when the next frame is due.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameScheduler {
    last: Option<Instant>,
    due: Option<Instant>,
}

impl FrameScheduler {
    /// Asks for a frame; several requests make one frame.
    pub fn request(&mut self, need: FrameUrgency, now: Instant) {
        let due = match need {
            FrameUrgency::None => return,
            FrameUrgency::Soon => self.last.map_or(now, |last| now.max(last + FRAME_INTERVAL)),
            FrameUrgency::Now => now,
        };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// Returns when a frame is due, if one was asked for.
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Returns whether to paint at `now`, and counts it as painted.
    pub fn take(&mut self, now: Instant) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        self.due = None;
        self.last = Some(now);
        true
    }
}

/// Asks for frames from anywhere; clones ask for the same screen.
#[derive(Clone, Debug, Default)]
pub struct FrameRequester {
    notify: Arc<Notify>,
}

impl FrameRequester {
    /// Asks for a frame; the content changed.
    pub fn request(&self) {
        self.notify.notify_one();
    }

    /// Waits until somebody asked.
    pub async fn requested(&self) {
        self.notify.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_gathered_and_frames_kept_apart() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut scheduler = FrameScheduler::default();
        assert!(!scheduler.take(at(0)));
        scheduler.request(FrameUrgency::Soon, at(0));
        scheduler.request(FrameUrgency::Soon, at(0));
        assert!(scheduler.take(at(0)));
        assert!(!scheduler.take(at(0)));
        scheduler.request(FrameUrgency::Soon, at(3));
        assert_eq!(scheduler.deadline(), Some(at(16)));
        assert!(!scheduler.take(at(15)));
        assert!(scheduler.take(at(16)));
    }

    #[test]
    fn a_typed_key_does_not_wait() {
        let start = Instant::now();
        let mut scheduler = FrameScheduler::default();
        scheduler.request(FrameUrgency::Soon, start);
        assert!(scheduler.take(start));
        scheduler.request(FrameUrgency::Soon, start);
        scheduler.request(FrameUrgency::Now, start);
        assert!(scheduler.take(start));
    }

    #[test]
    fn a_thousand_requests_a_second_make_sixty_frames() {
        let start = Instant::now();
        let mut scheduler = FrameScheduler::default();
        let frames = (0..1000)
            .filter(|millisecond| {
                let now = start + Duration::from_millis(*millisecond);
                scheduler.request(FrameUrgency::Soon, now);
                scheduler.take(now)
            })
            .count();
        assert_eq!(frames, 63);
    }
}
