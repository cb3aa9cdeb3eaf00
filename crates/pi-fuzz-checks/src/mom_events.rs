//! Files of scheduled events. The first line is a time, the rest is the file.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pi_mom::{EventStep, ScheduledEvent, Timing};
use pretty_assertions::assert_eq;

/// Long enough for a busy machine, short enough to detect searches without an end.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Occurrences that are followed.
const STEPS: usize = 4;

/// Checks that the next run of an event is in the future and found fast, and that an event that runs neither runs
/// early nor twice.
pub fn mom_events(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (time, file) = text.split_once('\n').unwrap_or(("", &text));
    let now: Timestamp = time.trim().parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let started = Instant::now();
    if let Ok(event) = ScheduledEvent::parse(file) {
        list(&event, now);
        run(&event, now);
    }
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
}

fn list(event: &ScheduledEvent, now: Timestamp) {
    let next = event.next_run(now);
    match &event.timing {
        Timing::Immediate => assert_eq!(next, Some(now)),
        Timing::At(at) => assert_eq!(next, Some(*at).filter(|at| *at > now)),
        Timing::Cron { .. } => assert!(next.is_none_or(|next| next > now), "{next:?} <= {now}"),
    }
    assert!(!event.label().is_empty());
}

/// Lets the clock stand still, jump to the next occurrence, and jump far ahead.
fn run(event: &ScheduledEvent, started: Timestamp) {
    let (mut now, mut last) = (started, None);
    for step in 0..STEPS {
        match event.step(now, started, last, started) {
            EventStep::Drop => return,
            EventStep::Wait(next) => {
                assert!(next > now, "{next} is not after {now}");
                assert!(last.is_none_or(|last| next > last), "{next} ran before");
                now = match step {
                    0 | 1 => next,
                    _ => now
                        .checked_add(SignedDuration::from_hours(24 * 400))
                        .unwrap_or(next),
                };
            }
            EventStep::Run {
                occurrence,
                is_last,
            } => {
                assert!(occurrence <= now, "{occurrence} is after {now}");
                assert!(
                    last.is_none_or(|last| occurrence > last),
                    "{occurrence} ran before"
                );
                if is_last {
                    return;
                }
                last = Some(occurrence);
            }
        }
    }
}
