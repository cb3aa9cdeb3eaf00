//! What the code of each extension uses: time, heap, children and errors.
//!
//! Time is measured where it passes anyway: the engine knows whose code it runs, and [`RunningHooks`](crate::running_hooks)
//! whose handlers an event waits for. The heap is shared by all extensions; its growth between two samples is divided
//! among the extensions that ran in between, so these figures are approximate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// Rendering that takes longer delays a frame.
const FRAME_DEADLINE: Duration = Duration::from_millis(16);

/// What one extension has used since it was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionUsage {
    /// Time until it was loaded.
    pub load: Duration,
    /// Time that the session has waited for its event handlers, without time in which a dialog was open.
    pub handlers: Duration,
    /// The longest time that one event has waited for it.
    pub longest_handler: Duration,
    /// Events that its handlers received.
    pub events: u64,
    /// Time that its code has run on the embedded engine.
    pub running: Duration,
    /// The part of `running` that rendered components and rows.
    pub rendering: Duration,
    pub longest_frame: Duration,
    pub frames: u64,
    /// Frames that took longer than 16 ms.
    pub late_frames: u64,
    /// Approximate share of the heap, in bytes.
    pub heap: u64,
    /// Child processes started.
    pub children: u64,
    pub errors: u64,
}

/// What ran, which decides what its time counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    Ordinary,
    Rendering,
    /// Has its own heap.
    Worker,
}

/// Which samples of the heap are taken without a request. A sample walks the whole heap, while no JavaScript runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HeapSampling {
    None,
    /// One: the heap before extensions are loaded, or after.
    #[default]
    Next,
    All,
}

#[derive(Debug, Default)]
struct MeterState {
    usage: BTreeMap<Arc<str>, ExtensionUsage>,
    dialogs: DialogTime,
    /// Running time since the last sample of the heap.
    since_sample: BTreeMap<Arc<str>, Duration>,
    /// Size of the heap in the last sample.
    heap: Option<u64>,
    sampling: HeapSampling,
}

/// How long dialogs have been open.
#[derive(Debug, Default)]
struct DialogTime {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl DialogTime {
    fn until(&self, now: Instant) -> Duration {
        let current = self
            .since
            .map(|since| now.saturating_duration_since(since))
            .unwrap_or_default();
        self.total.saturating_add(current)
    }
}

/// Start of a measurement that excludes the time of dialogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitStart {
    at: Instant,
    dialogs: Duration,
}

/// Counts what extensions use. Readable while their code runs.
#[derive(Debug, Default)]
pub struct UsageMeter(Mutex<MeterState>);

impl UsageMeter {
    /// Returns what each extension has used, by path.
    pub fn usage(&self) -> BTreeMap<String, ExtensionUsage> {
        let state = self.state();
        let usage = state.usage.iter();
        usage
            .map(|(path, usage)| (path.to_string(), *usage))
            .collect()
    }

    /// Returns what an extension has used.
    pub fn usage_of(&self, extension: &str) -> ExtensionUsage {
        self.state()
            .usage
            .get(extension)
            .copied()
            .unwrap_or_default()
    }

    /// Counts a failure of an extension.
    pub fn add_error(&self, extension: &str) {
        self.update(extension, |usage| usage.errors += 1);
    }

    /// Counts a child process that an extension has started.
    pub fn add_child(&self, extension: &str) {
        self.update(extension, |usage| usage.children += 1);
    }

    /// Stops measuring how long handlers take, until [`UsageMeter::dialog_closed`].
    pub fn dialog_opened(&self) {
        let dialogs = &mut self.state().dialogs;
        dialogs.open += 1;
        dialogs.since.get_or_insert_with(Instant::now);
    }

    pub fn dialog_closed(&self) {
        let dialogs = &mut self.state().dialogs;
        dialogs.open = dialogs.open.saturating_sub(1);
        if dialogs.open == 0 {
            dialogs.total = dialogs.until(Instant::now());
            dialogs.since = None;
        }
    }

    /// Samples the heap regularly from now on. Until then, it is sampled after loading and by
    /// [`Engine::usage`](crate::Engine::usage), which then divides the growth over a longer time.
    pub fn follow_heap(&self) {
        self.state().sampling = HeapSampling::All;
    }

    /// Whether a sample of the heap is wanted now.
    pub(crate) fn wants_heap(&self) -> bool {
        self.state().sampling != HeapSampling::None
    }

    pub(crate) fn loaded(&self, extension: &str, time: Duration) {
        let mut state = self.state();
        state.update(extension, |usage| usage.load += time);
        if state.sampling == HeapSampling::None {
            state.sampling = HeapSampling::Next;
        }
    }

    pub(crate) fn start_wait(&self) -> WaitStart {
        let at = Instant::now();
        let dialogs = self.state().dialogs.until(at);
        WaitStart { at, dialogs }
    }

    /// Counts the time that an event has waited for the handlers of an extension.
    pub(crate) fn handled(&self, extension: &str, start: WaitStart) {
        let now = Instant::now();
        let mut state = self.state();
        let dialogs = state.dialogs.until(now).saturating_sub(start.dialogs);
        let time = now
            .saturating_duration_since(start.at)
            .saturating_sub(dialogs);
        state.update(extension, |usage| {
            usage.handlers += time;
            usage.longest_handler = usage.longest_handler.max(time);
            usage.events += 1;
        });
    }

    /// Counts time that the code of an extension ran on the engine.
    pub(crate) fn ran(&self, extension: &Arc<str>, time: Duration, kind: CodeKind) {
        let mut state = self.state();
        state.update(extension, |usage| {
            usage.running += time;
            if kind == CodeKind::Rendering {
                usage.rendering += time;
                usage.longest_frame = usage.longest_frame.max(time);
                usage.frames += 1;
                usage.late_frames += u64::from(time > FRAME_DEADLINE);
            }
        });
        if kind == CodeKind::Worker {
            return;
        }
        match state.since_sample.get_mut(extension) {
            Some(since) => *since += time,
            None => {
                state.since_sample.insert(Arc::clone(extension), time);
            }
        }
    }

    /// Divides the change of the heap since the last sample among the extensions that ran: growth by running time, what
    /// was freed by their shares.
    pub(crate) fn sample_heap(&self, size: u64) {
        let mut state = self.state();
        if state.sampling == HeapSampling::Next {
            state.sampling = HeapSampling::None;
        }
        let ran = std::mem::take(&mut state.since_sample);
        let Some(before) = state.heap.replace(size) else {
            return;
        };
        if size >= before {
            let total: Duration = ran.values().sum();
            for (extension, time) in &ran {
                let share = scale(size - before, time.as_nanos(), total.as_nanos());
                state.update(extension, |usage| usage.heap += share);
            }
        } else {
            let total: u64 = state.usage.values().map(|usage| usage.heap).sum();
            let left = total.saturating_sub(before - size);
            for usage in state.usage.values_mut() {
                usage.heap = scale(usage.heap, left.into(), total.into());
            }
        }
    }

    fn update(&self, extension: &str, change: impl FnOnce(&mut ExtensionUsage)) {
        self.state().update(extension, change);
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        self.0.lock()
    }
}

impl MeterState {
    fn update(&mut self, extension: &str, change: impl FnOnce(&mut ExtensionUsage)) {
        if let Some(usage) = self.usage.get_mut(extension) {
            return change(usage);
        }
        let mut usage = ExtensionUsage::default();
        change(&mut usage);
        self.usage.insert(Arc::from(extension), usage);
    }
}

/// Returns `amount * part / whole`; nothing of nothing.
fn scale(amount: u64, part: u128, whole: u128) -> u64 {
    let scaled = u128::from(amount)
        .saturating_mul(part)
        .checked_div(whole)
        .unwrap_or_default();
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn heaps(meter: &UsageMeter) -> Vec<(String, u64)> {
        let usage = meter.usage().into_iter();
        usage.map(|(path, usage)| (path, usage.heap)).collect()
    }

    #[test]
    fn the_heap_is_divided_among_the_extensions_that_ran() {
        let (small, large): (Arc<str>, Arc<str>) = (Arc::from("a"), Arc::from("b"));
        let meter = UsageMeter::default();
        meter.sample_heap(3 * MIB);
        meter.ran(&small, Duration::from_millis(1), CodeKind::Ordinary);
        meter.sample_heap(4 * MIB);
        meter.ran(&large, Duration::from_millis(3), CodeKind::Rendering);
        meter.ran(&small, Duration::from_millis(1), CodeKind::Ordinary);
        meter.ran(&small, Duration::from_millis(50), CodeKind::Worker);
        meter.sample_heap(12 * MIB);
        assert_eq!(
            heaps(&meter),
            [("a".to_owned(), 3 * MIB), ("b".to_owned(), 6 * MIB)]
        );
        // What is freed is taken from all.
        meter.sample_heap(9 * MIB);
        assert_eq!(
            heaps(&meter),
            [("a".to_owned(), 2 * MIB), ("b".to_owned(), 4 * MIB)]
        );
        meter.sample_heap(0);
        assert_eq!(heaps(&meter), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
    }

    #[test]
    fn the_heap_is_sampled_after_loading_and_once_it_is_followed() {
        let meter = UsageMeter::default();
        assert!(meter.wants_heap());
        meter.sample_heap(MIB);
        assert!(!meter.wants_heap());
        meter.loaded("a", Duration::from_millis(1));
        assert!(meter.wants_heap());
        meter.sample_heap(MIB);
        assert!(!meter.wants_heap());
        meter.follow_heap();
        meter.sample_heap(MIB);
        assert!(meter.wants_heap());
    }

    #[test]
    fn only_rendering_that_misses_the_deadline_is_late() {
        let extension: Arc<str> = Arc::from("a");
        let meter = UsageMeter::default();
        for (milliseconds, kind) in [
            (4, CodeKind::Rendering),
            (17, CodeKind::Rendering),
            (30, CodeKind::Ordinary),
            (10, CodeKind::Worker),
        ] {
            meter.ran(&extension, Duration::from_millis(milliseconds), kind);
        }
        let usage = meter.usage_of("a");
        assert_eq!((usage.frames, usage.late_frames), (2, 1));
        assert_eq!(usage.rendering, Duration::from_millis(21));
        assert_eq!(usage.longest_frame, Duration::from_millis(17));
        assert_eq!(usage.running, Duration::from_millis(61));
    }

    #[test]
    fn dialogs_are_not_time_of_handlers() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut dialogs = DialogTime {
            open: 1,
            since: Some(start),
            total: second,
        };
        assert_eq!(dialogs.until(start + second), 2 * second);
        dialogs.since = None;
        assert_eq!(dialogs.until(start + second), second);
    }
}
