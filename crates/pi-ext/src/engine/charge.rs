//! Whose code runs on the JavaScript thread, and who is charged for its time and heap.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::usage_meter::{CodeKind, UsageMeter};

/// Samples of the heap may take one part in this many of the time.
const SAMPLING_SHARE: u32 = 100;

/// Minimum time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The extension that owns code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CodeOwner {
    /// Receives faults, and fails with the code. Not known for events, which all extensions receive.
    pub(crate) extension: Option<Arc<str>>,
    /// Is charged for the code; for an event, the extension whose handlers run.
    pub(crate) charged: Option<Arc<str>>,
}

impl CodeOwner {
    pub(crate) fn of(extension: Option<&str>) -> Self {
        let extension = extension.map(Arc::from);
        Self {
            charged: extension.clone(),
            extension,
        }
    }

    /// Returns the path of the extension, if known.
    pub(crate) fn path(&self) -> Option<&str> {
        self.extension.as_deref()
    }
}

/// Measures the code that runs.
#[derive(Debug)]
pub(super) struct ChargeClock {
    /// What runs unless it renders.
    default_kind: CodeKind,
    since: Cell<Option<Instant>>,
    kind: Cell<CodeKind>,
    next_sample: Cell<Option<Instant>>,
}

impl ChargeClock {
    pub(super) fn new(default_kind: CodeKind) -> Self {
        Self {
            default_kind,
            since: Cell::new(None),
            kind: Cell::new(default_kind),
            next_sample: Cell::new(None),
        }
    }

    /// Begins to measure. Code of the extension that runs now is not rendering until it says so.
    pub(super) fn start(&self, now: Instant) {
        self.since.set(Some(now));
        self.kind.set(self.default_kind);
    }

    /// Counts the time since the last change; `is_rendering` is what follows.
    pub(super) fn lap(
        &self,
        meter: &UsageMeter,
        charged: Option<&Arc<str>>,
        is_rendering: bool,
        now: Instant,
    ) {
        let next = match (is_rendering, self.default_kind) {
            (true, CodeKind::Ordinary) => CodeKind::Rendering,
            (_, kind) => kind,
        };
        let kind = self.kind.replace(next);
        if let Some(since) = self.since.replace(Some(now))
            && let Some(extension) = charged
        {
            let time = now.saturating_duration_since(since);
            meter.ran(extension, time, kind);
        }
    }

    pub(super) fn stop(&self) {
        self.since.set(None);
    }

    /// Samples the heap, if the meter wants it and samples have not taken more than their share of the time. Workers are
    /// not sampled: the meter divides one heap.
    pub(super) fn sample_if_due(
        &self,
        meter: &UsageMeter,
        now: Instant,
        heap: impl FnOnce() -> u64,
    ) {
        let is_early = self.next_sample.get().is_some_and(|next| now < next);
        if is_early || self.default_kind == CodeKind::Worker || !meter.wants_heap() {
            return;
        }
        meter.sample_heap(heap());
        let cost = now.elapsed();
        let pause = cost.saturating_mul(SAMPLING_SHARE).max(SAMPLE_INTERVAL);
        self.next_sample.set(now.checked_add(pause));
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn time_is_charged_to_the_extension_that_ran() {
        let (one, other): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("other"));
        let meter = UsageMeter::default();
        let clock = ChargeClock::new(CodeKind::Ordinary);
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        clock.start(start);
        clock.lap(&meter, None, false, at(1));
        clock.lap(&meter, Some(&one), true, at(3));
        clock.lap(&meter, Some(&other), false, at(7));
        clock.lap(&meter, Some(&one), false, at(8));
        clock.stop();
        clock.start(at(100));
        clock.lap(&meter, Some(&other), false, at(101));
        let running = |path| meter.usage_of(path).running.as_millis();
        assert_eq!((running("one"), running("other")), (3, 5));
        let rendering = |path| meter.usage_of(path).rendering.as_millis();
        assert_eq!((rendering("one"), rendering("other")), (0, 4));
    }

    #[test]
    fn a_sample_delays_the_next_one() {
        let meter = UsageMeter::default();
        let clock = ChargeClock::new(CodeKind::Ordinary);
        let now = Instant::now();
        let samples = Cell::new(0);
        let sample = |at| {
            clock.sample_if_due(&meter, at, || {
                samples.set(samples.get() + 1);
                0
            });
        };
        sample(now);
        // Without a request, only the first one.
        sample(now + Duration::from_mins(5));
        assert_eq!(samples.get(), 1);
        meter.follow_heap();
        sample(now + SAMPLE_INTERVAL / 2);
        assert_eq!(samples.get(), 1);
        sample(now + Duration::from_mins(10));
        assert_eq!(samples.get(), 2);
        let worker = ChargeClock::new(CodeKind::Worker);
        worker.sample_if_due(&meter, now, || unreachable!("the heap of a worker"));
    }
}
