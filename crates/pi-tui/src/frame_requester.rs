//! Frame scheduling: coalesces requests into at most about 60 frames per second, and 30 for content.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::tui::FrameUrgency;

/// Minimum time between two frames that are not urgent.
pub const FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// Minimum time between two frames for new content, such as a streamed response.
const CONTENT_INTERVAL: Duration = Duration::from_millis(33);

#[derive(Clone, Copy, Debug, Default)]
pub struct FrameScheduler {
    last: Option<Instant>,
    due: Option<Instant>,
}

impl FrameScheduler {
    /// Requests a frame. Multiple requests are coalesced into one frame.
    pub fn request(&mut self, urgency: FrameUrgency, now: Instant) {
        let due = match urgency {
            FrameUrgency::None => return,
            FrameUrgency::Content => self.after(CONTENT_INTERVAL, now),
            FrameUrgency::Soon => self.after(FRAME_INTERVAL, now),
            FrameUrgency::Now => now,
        };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    fn after(&self, interval: Duration, now: Instant) -> Instant {
        self.last.map_or(now, |last| now.max(last + interval))
    }

    /// Returns when a frame is due, if one was requested.
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Whether to paint at `now`; if so, records the frame as painted.
    pub fn take(&mut self, now: Instant) -> bool {
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        self.due = None;
        self.last = Some(now);
        true
    }
}

/// Requests frames from any task. Clones share the same screen.
#[derive(Clone, Debug, Default)]
pub struct FrameRequester {
    notify: Arc<Notify>,
}

impl FrameRequester {
    /// Requests a frame because the content changed.
    pub fn request(&self) {
        self.notify.notify_one();
    }

    /// Waits until a frame is requested.
    pub async fn requested(&self) {
        self.notify.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_coalesced_and_frames_are_spaced() {
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
    fn urgent_frames_are_immediate() {
        let start = Instant::now();
        let mut scheduler = FrameScheduler::default();
        scheduler.request(FrameUrgency::Soon, start);
        assert!(scheduler.take(start));
        scheduler.request(FrameUrgency::Soon, start);
        scheduler.request(FrameUrgency::Now, start);
        assert!(scheduler.take(start));
    }

    #[test]
    fn a_thousand_requests_a_second_make_a_limited_number_of_frames() {
        for (urgency, expected) in [(FrameUrgency::Soon, 63), (FrameUrgency::Content, 31)] {
            let start = Instant::now();
            let mut scheduler = FrameScheduler::default();
            let frames = (0..1000)
                .filter(|millisecond| {
                    let now = start + Duration::from_millis(*millisecond);
                    scheduler.request(urgency, now);
                    scheduler.take(now)
                })
                .count();
            assert_eq!(frames, expected, "{urgency:?}");
        }
    }
}
