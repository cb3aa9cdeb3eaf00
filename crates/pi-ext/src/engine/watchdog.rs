//! Time limits of the JavaScript thread.
//!
//! [`Watchdog`] runs on the thread and decides, in the engine's interrupt handler, whether code may
//! continue. It measures CPU time, so a thread that waits for a busy machine is not interrupted.
//! [`Heartbeat`] is visible to other threads: it reveals a thread that is blocked in native code, where
//! the interrupt handler never runs.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// CPU time allowed after an interrupt, to build the error and its stack in embedded code.
const UNWIND_LIMIT: Duration = Duration::from_millis(250);

/// Shorter runs are not measured: reading the thread's CPU time is a system call that costs more
/// than a short run.
const MIN_MEASURED: Duration = Duration::from_millis(1);

/// Resource limits for extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimits {
    /// CPU time that code may use without yielding.
    pub slice: Duration,
    /// Total duration of a call, including time spent waiting. `None` means no limit.
    pub call: Option<Duration>,
    /// Time beyond `slice` without a heartbeat after which the thread is considered stuck.
    pub grace: Duration,
    /// Maximum size of the JavaScript heap in bytes.
    pub memory: usize,
    /// Maximum size of the JavaScript stack in bytes.
    pub stack: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            slice: Duration::from_secs(5),
            call: None,
            grace: Duration::from_secs(5),
            memory: 512 * 1024 * 1024,
            stack: 2 * 1024 * 1024,
        }
    }
}

/// Heartbeat of a JavaScript thread, readable from any thread.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    epoch: Instant,
    /// Time of the last heartbeat of the current run, in milliseconds since `epoch` plus one. 0
    /// while idle.
    last_beat: AtomicU64,
    stopping: AtomicBool,
    /// Wakes an idle thread when it should stop.
    wake: CancellationToken,
    /// Number of entries into JavaScript so far.
    entries: AtomicU64,
    /// Number of the entry in progress, or 0 while idle. A blocked thread has one, too.
    entry: AtomicU64,
    /// Number of the entry to interrupt. An entry that has ended is not affected.
    interrupted: watch::Sender<u64>,
}

impl Heartbeat {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            last_beat: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            wake: CancellationToken::new(),
            entries: AtomicU64::new(0),
            entry: AtomicU64::new(0),
            interrupted: watch::Sender::new(0),
        })
    }

    /// Begins an entry into JavaScript, which [`Heartbeat::interrupt`] may end.
    pub(crate) fn enter(&self) {
        let entry = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        self.entry.store(entry, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.entry.store(0, Ordering::Relaxed);
    }

    /// Returns the number of the entry in progress, also of one that is blocked; `None` while idle.
    pub(crate) fn current_entry(&self) -> Option<u64> {
        Some(self.entry.load(Ordering::Relaxed)).filter(|entry| *entry != 0)
    }

    /// Interrupts the code in progress, and the child process it waits for.
    pub(crate) fn interrupt(&self) {
        if let Some(entry) = self.current_entry() {
            self.interrupted.send_replace(entry);
        }
    }

    /// Completes when the entry in progress is interrupted or the thread has to stop.
    pub(crate) async fn interruption(&self) {
        let entry = self.current_entry();
        let mut interrupted = self.interrupted.subscribe();
        tokio::select! {
            // Fails only if the sender is dropped, which this borrow prevents.
            Ok(_) = interrupted.wait_for(|it| Some(*it) == entry) => {}
            () = self.stopped() => {}
            else => std::future::pending().await,
        }
    }

    /// Returns whether the entry in progress was interrupted, once.
    fn take_interrupt(&self) -> bool {
        let entry = self.current_entry();
        entry.is_some()
            && self.interrupted.send_if_modified(|interrupted| {
                let is_current = Some(*interrupted) == entry;
                if is_current {
                    *interrupted = 0;
                }
                is_current
            })
    }

    fn milliseconds(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.epoch).as_millis();
        u64::try_from(since).unwrap_or(u64::MAX - 1) + 1
    }

    fn beat(&self, now: Instant) {
        self.last_beat
            .store(self.milliseconds(now), Ordering::Relaxed);
    }

    fn end(&self) {
        self.last_beat.store(0, Ordering::Relaxed);
    }

    /// Returns the time since the last heartbeat of the current run, or zero while idle.
    pub(crate) fn silent_for(&self) -> Duration {
        match self.last_beat.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            last => {
                let now = self.milliseconds(Instant::now());
                Duration::from_millis(now.saturating_sub(last))
            }
        }
    }

    /// Requests the thread to stop. Running code is interrupted.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.wake.cancel();
    }

    /// Completes when a stop is requested.
    pub(crate) async fn stopped(&self) {
        self.wake.cancelled().await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// Measures the CPU time that this thread has used since a point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTimer {
    started: Instant,
    /// CPU time of the thread at the first measurement.
    first: Option<Duration>,
}

impl CpuTimer {
    pub(crate) fn start_at(started: Instant) -> Self {
        Self {
            started,
            first: None,
        }
    }

    /// Returns whether the CPU time exceeds `limit`. Measuring starts with the first check after
    /// [`MIN_MEASURED`].
    pub(crate) fn exceeds(&mut self, limit: Duration, now: Instant) -> bool {
        if now.saturating_duration_since(self.started) < MIN_MEASURED {
            return false;
        }
        let spent = thread_cpu_time();
        let first = *self.first.get_or_insert(spent);
        spent.saturating_sub(first) > limit
    }

    /// Excludes CPU time from the measurement.
    fn exclude(&mut self, time: Duration) {
        if let Some(first) = &mut self.first {
            *first = first.saturating_add(time);
        }
    }
}

/// Returns the total CPU time of this thread.
#[cfg(unix)]
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Approximates CPU time by elapsed time, since this platform has no portable per-thread clock.
#[cfg(not(unix))]
fn thread_cpu_time() -> Duration {
    thread_local! {
        static START: Instant = Instant::now();
    }
    START.with(Instant::elapsed)
}

/// The run in progress and its limit.
#[derive(Debug, Clone, Copy)]
struct ActiveRun {
    timer: CpuTimer,
    limit: Duration,
}

/// Interrupts code that exceeds its time slice.
#[derive(Debug)]
pub(crate) struct Watchdog {
    heartbeat: Arc<Heartbeat>,
    run: Cell<Option<ActiveRun>>,
    fired: Cell<bool>,
    /// Whether it was interrupted on request, not for its use of time.
    requested: Cell<bool>,
    /// Total CPU time spent in [`Watchdog::pause`].
    paused: Cell<Duration>,
}

impl Watchdog {
    pub(crate) fn new(heartbeat: Arc<Heartbeat>) -> Rc<Self> {
        Rc::new(Self {
            heartbeat,
            run: Cell::new(None),
            fired: Cell::new(false),
            requested: Cell::new(false),
            paused: Cell::default(),
        })
    }

    /// Starts a run, or its next step, and returns the start time.
    pub(crate) fn arm(&self, limit: Duration) -> Instant {
        let now = Instant::now();
        self.heartbeat.beat(now);
        self.fired.set(false);
        self.requested.set(false);
        let timer = CpuTimer::start_at(now);
        self.run.set(Some(ActiveRun { timer, limit }));
        now
    }

    pub(crate) fn disarm(&self) {
        self.run.set(None);
        self.heartbeat.end();
    }

    /// Runs a closure whose time is not charged to the extension: a deliberate wait, such as
    /// `spawnSync`, or work of the host, such as transpiling a source.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = thread_cpu_time();
        self.heartbeat.end();
        let result = work();
        self.heartbeat.beat(Instant::now());
        let spent = thread_cpu_time().saturating_sub(started);
        self.paused.set(self.paused.get().saturating_add(spent));
        if let Some(mut run) = self.run.get() {
            run.timer.exclude(spent);
            self.run.set(Some(run));
        }
        result
    }

    /// Returns the total CPU time spent in [`Watchdog::pause`].
    pub(crate) fn paused(&self) -> Duration {
        self.paused.get()
    }

    /// Returns whether the current run exceeded its limit or was interrupted on request.
    pub(crate) fn has_fired(&self) -> bool {
        self.fired.get()
    }

    /// Returns whether the current run was interrupted by [`Heartbeat::interrupt`].
    pub(crate) fn was_requested(&self) -> bool {
        self.requested.get()
    }

    /// The engine's interrupt handler. `true` stops the code with an uncatchable error.
    pub(crate) fn should_interrupt(&self) -> bool {
        if self.heartbeat.is_stopping() {
            return true;
        }
        let Some(mut run) = self.run.get() else {
            return false;
        };
        let now = Instant::now();
        self.heartbeat.beat(now);
        let is_requested = self.heartbeat.take_interrupt();
        let is_over = is_requested || run.timer.exceeds(run.limit, now);
        if is_over {
            self.fired.set(true);
            self.requested.set(is_requested);
            run = ActiveRun {
                timer: CpuTimer::start_at(now),
                limit: UNWIND_LIMIT,
            };
        }
        self.run.set(Some(run));
        is_over
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Blocks without using CPU time.
    fn wait(time: Duration) {
        let (_sender, gate) = channel::<()>();
        gate.recv_timeout(time).unwrap_err();
    }

    fn compute_until(is_done: impl Fn() -> bool) {
        let started = Instant::now();
        while !is_done() {
            assert!(started.elapsed() < Duration::from_mins(1), "never stopped");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_cpu_time_counts() {
        let slice = Duration::from_millis(20);
        let watchdog = Watchdog::new(Heartbeat::new());
        watchdog.arm(slice);
        for _ in 0..3 {
            wait(2 * slice);
            assert!(!watchdog.should_interrupt());
        }
        compute_until(|| watchdog.should_interrupt());
        assert!(watchdog.has_fired());
        assert!(!watchdog.should_interrupt(), "unwinding was interrupted");
    }

    #[cfg(unix)]
    #[test]
    fn paused_time_does_not_count() {
        let slice = Duration::from_millis(20);
        let watchdog = Watchdog::new(Heartbeat::new());
        watchdog.arm(slice);
        wait(2 * MIN_MEASURED);
        assert!(!watchdog.should_interrupt());
        let started = thread_cpu_time();
        watchdog.pause(|| compute_until(|| thread_cpu_time().saturating_sub(started) > 2 * slice));
        assert!(!watchdog.should_interrupt());
        assert!(watchdog.paused() >= 2 * slice);
    }

    #[test]
    fn an_interrupt_ends_only_the_entry_in_progress() {
        let heartbeat = Heartbeat::new();
        let watchdog = Watchdog::new(Arc::clone(&heartbeat));
        heartbeat.interrupt();
        heartbeat.enter();
        watchdog.arm(Duration::from_mins(1));
        assert!(!watchdog.should_interrupt(), "requested while idle");
        heartbeat.interrupt();
        assert!(watchdog.should_interrupt());
        assert!(watchdog.was_requested());
        assert!(!watchdog.should_interrupt(), "unwinding was interrupted");
        heartbeat.interrupt();
        heartbeat.leave();
        heartbeat.enter();
        watchdog.arm(Duration::from_mins(1));
        assert!(!watchdog.should_interrupt(), "meant for the previous entry");
    }

    #[test]
    fn an_interrupt_check_is_a_heartbeat() {
        let heartbeat = Heartbeat::new();
        let watchdog = Watchdog::new(Arc::clone(&heartbeat));
        assert_eq!(heartbeat.silent_for(), Duration::ZERO);
        watchdog.arm(Duration::from_mins(1));
        let silence = Duration::from_millis(40);
        compute_until(|| heartbeat.silent_for() >= silence);
        watchdog.should_interrupt();
        assert!(heartbeat.silent_for() < silence);
        watchdog.disarm();
        assert_eq!(heartbeat.silent_for(), Duration::ZERO);
    }
}
