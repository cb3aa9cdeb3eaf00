//! Deadlines of the JavaScript thread.
//!
//! [`Watchdog`] lives on the thread and answers the engine's question "may this go on?". It counts the time the
//! thread computes: one that merely waits for a processor, on a machine with more to do, is not to blame.
//! [`Pulse`] is the same thread's pulse as seen from outside, by which a caller knows a thread that hangs in native
//! code, where that question is never asked.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// After a stop the engine still builds the error and its stack; that code is ours and short.
const UNWINDING: Duration = Duration::from_millis(250);

/// What is over sooner is not measured: the time of a thread is known to the kernel alone, and asking it costs
/// more than a short run.
const UNMEASURED: Duration = Duration::from_millis(1);

/// Limits of what extensions may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// How long code may compute without giving the thread back.
    pub slice: Duration,
    /// How long a call may take in all, waiting included; `None` waits for ever.
    pub call: Option<Duration>,
    /// How long, beyond `slice`, a thread may give no sign of life before it counts as stuck.
    pub grace: Duration,
    /// Bytes the JavaScript heap may take.
    pub memory: usize,
    /// Bytes of stack JavaScript may take.
    pub stack: usize,
}

impl Default for Budgets {
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

/// The pulse of a JavaScript thread, readable from everywhere.
#[derive(Debug)]
pub(crate) struct Pulse {
    epoch: Instant,
    /// Milliseconds since `epoch` plus one at the last sign of life of the current run; 0 while idle.
    last_beat: AtomicU64,
    stopping: AtomicBool,
    /// Wakes the thread when it is to stop while idle.
    wake: CancellationToken,
}

impl Pulse {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            last_beat: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            wake: CancellationToken::new(),
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

    /// Returns for how long a run of JavaScript has given no sign of life; nothing while none is under way.
    pub(crate) fn silent_for(&self) -> Duration {
        match self.last_beat.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            last => {
                let now = self.milliseconds(Instant::now());
                Duration::from_millis(now.saturating_sub(last))
            }
        }
    }

    /// Asks the thread to end; running code is interrupted.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.wake.cancel();
    }

    /// Waits until the thread is asked to end.
    pub(crate) async fn stopped(&self) {
        self.wake.cancelled().await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// How long this thread has computed since a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    began: Instant,
    /// The time of the thread when it was first measured.
    first: Option<Duration>,
}

impl Effort {
    pub(crate) fn since(began: Instant) -> Self {
        Self { began, first: None }
    }

    /// Returns whether it is more than a limit, as measured from the first question that is not asked at once.
    pub(crate) fn exceeds(&mut self, limit: Duration, now: Instant) -> bool {
        if now.saturating_duration_since(self.began) < UNMEASURED {
            return false;
        }
        let spent = thread_time();
        let first = *self.first.get_or_insert(spent);
        spent.saturating_sub(first) > limit
    }

    /// Leaves out what was computed for another purpose.
    fn forgive(&mut self, time: Duration) {
        if let Some(first) = &mut self.first {
            *first = first.saturating_add(time);
        }
    }
}

/// Returns how long this thread has computed in its life.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns how long this thread has lived, about: here nobody tells how much of it was spent computing.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    thread_local! {
        static START: Instant = Instant::now();
    }
    START.with(Instant::elapsed)
}

/// What runs now, and how long it may.
#[derive(Debug, Clone, Copy)]
struct Run {
    effort: Effort,
    limit: Duration,
}

/// Watches over what runs now.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pulse: Arc<Pulse>,
    run: Cell<Option<Run>>,
    fired: Cell<bool>,
    /// How long runs have computed on our own account so far.
    paused: Cell<Duration>,
}

impl Watchdog {
    pub(crate) fn new(pulse: Arc<Pulse>) -> Rc<Self> {
        Rc::new(Self {
            pulse,
            run: Cell::new(None),
            fired: Cell::new(false),
            paused: Cell::default(),
        })
    }

    /// Begins a run, or its next part, and returns when that was.
    pub(crate) fn arm(&self, limit: Duration) -> Instant {
        let now = Instant::now();
        self.pulse.beat(now);
        self.fired.set(false);
        let effort = Effort::since(now);
        self.run.set(Some(Run { effort, limit }));
        now
    }

    /// Ends a run.
    pub(crate) fn disarm(&self) {
        self.run.set(None);
        self.pulse.end();
    }

    /// Runs something that waits on purpose, such as a child process in its synchronous form, or
    /// that is our own work, such as the preparation of a source: the time does not count.
    pub(crate) fn pause<T>(&self, wait: impl FnOnce() -> T) -> T {
        let began = thread_time();
        self.pulse.end();
        let result = wait();
        self.pulse.beat(Instant::now());
        let spent = thread_time().saturating_sub(began);
        self.paused.set(self.paused.get().saturating_add(spent));
        if let Some(mut run) = self.run.get() {
            run.effort.forgive(spent);
            self.run.set(Some(run));
        }
        result
    }

    /// Returns how long runs have computed on our own account so far.
    pub(crate) fn paused(&self) -> Duration {
        self.paused.get()
    }

    /// Returns whether the current run was stopped for its length.
    pub(crate) fn has_fired(&self) -> bool {
        self.fired.get()
    }

    /// Answers the engine: `true` stops the code with an error it cannot catch.
    pub(crate) fn should_interrupt(&self) -> bool {
        if self.pulse.is_stopping() {
            return true;
        }
        let Some(mut run) = self.run.get() else {
            return false;
        };
        let now = Instant::now();
        self.pulse.beat(now);
        let is_over = run.effort.exceeds(run.limit, now);
        if is_over {
            self.fired.set(true);
            run = Run {
                effort: Effort::since(now),
                limit: UNWINDING,
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

    /// Lets time pass as for a thread that no processor has time for.
    fn wait(time: Duration) {
        let (_nobody, gate) = channel::<()>();
        gate.recv_timeout(time).unwrap_err();
    }

    fn compute_until(is_enough: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_enough() {
            assert!(began.elapsed() < Duration::from_mins(1), "it goes on");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_what_is_computed_counts() {
        let slice = Duration::from_millis(20);
        let watchdog = Watchdog::new(Pulse::new());
        watchdog.arm(slice);
        for _ in 0..3 {
            wait(2 * slice);
            assert!(!watchdog.should_interrupt());
        }
        compute_until(|| watchdog.should_interrupt());
        assert!(watchdog.has_fired());
        assert!(!watchdog.should_interrupt(), "the stack is still unwound");
    }

    #[cfg(unix)]
    #[test]
    fn our_own_work_does_not_count() {
        let slice = Duration::from_millis(20);
        let watchdog = Watchdog::new(Pulse::new());
        watchdog.arm(slice);
        wait(2 * UNMEASURED);
        assert!(!watchdog.should_interrupt());
        let began = thread_time();
        watchdog.pause(|| compute_until(|| thread_time().saturating_sub(began) > 2 * slice));
        assert!(!watchdog.should_interrupt());
        assert!(watchdog.paused() >= 2 * slice);
    }

    #[test]
    fn a_question_is_a_sign_of_life() {
        let pulse = Pulse::new();
        let watchdog = Watchdog::new(Arc::clone(&pulse));
        assert_eq!(pulse.silent_for(), Duration::ZERO);
        watchdog.arm(Duration::from_mins(1));
        let silence = Duration::from_millis(40);
        compute_until(|| pulse.silent_for() >= silence);
        watchdog.should_interrupt();
        assert!(pulse.silent_for() < silence);
        watchdog.disarm();
        assert_eq!(pulse.silent_for(), Duration::ZERO);
    }
}
