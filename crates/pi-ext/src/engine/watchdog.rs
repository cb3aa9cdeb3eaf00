//! Deadlines of the JavaScript thread.
//!
//! [`Watchdog`] lives on the thread and answers the engine's question "may this go on?";
//! [`Pulse`] is the same thread's pulse as seen from outside, by which a caller knows a thread
//! that hangs in native code, where that question is never asked.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// After a stop the engine still builds the error and its stack; that code is ours and short.
const UNWINDING: Duration = Duration::from_millis(250);

/// Limits of what extensions may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// How long code may run without giving the thread back.
    pub slice: Duration,
    /// How long a call may take in all, waiting included; `None` waits for ever.
    pub call: Option<Duration>,
    /// How long after `slice` a thread that does not react counts as stuck.
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
    /// Milliseconds since `epoch` plus one when the current run began; 0 while idle.
    running_since: AtomicU64,
    stopping: AtomicBool,
    /// Wakes the thread when it is to stop while idle.
    wake: CancellationToken,
}

impl Pulse {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            running_since: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            wake: CancellationToken::new(),
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    fn begin(&self) {
        self.running_since.store(self.now(), Ordering::Relaxed);
    }

    fn end(&self) {
        self.running_since.store(0, Ordering::Relaxed);
    }

    /// Returns how long the thread has been in one run of JavaScript.
    pub(crate) fn running_for(&self) -> Duration {
        match self.running_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis(self.now().saturating_sub(since)),
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

/// The deadline of what runs now.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pulse: Arc<Pulse>,
    deadline: Cell<Option<Instant>>,
    fired: Cell<bool>,
    /// How long runs have waited on purpose so far.
    paused: Cell<Duration>,
}

impl Watchdog {
    pub(crate) fn new(pulse: Arc<Pulse>) -> Rc<Self> {
        Rc::new(Self {
            pulse,
            deadline: Cell::new(None),
            fired: Cell::new(false),
            paused: Cell::default(),
        })
    }

    /// Begins a run, or its next part.
    pub(crate) fn arm(&self, slice: Duration) {
        self.pulse.begin();
        self.fired.set(false);
        self.deadline.set(Instant::now().checked_add(slice));
    }

    /// Ends a run.
    pub(crate) fn disarm(&self) {
        self.deadline.set(None);
        self.pulse.end();
    }

    /// Runs something that waits on purpose, such as a child process in its synchronous form, or
    /// that is our own work, such as the preparation of a source: the time does not count.
    pub(crate) fn pause<T>(&self, wait: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        self.pulse.end();
        let result = wait();
        self.pulse.begin();
        let waited = began.elapsed();
        self.paused.set(self.paused.get().saturating_add(waited));
        let deadline = self.deadline.get();
        self.deadline
            .set(deadline.and_then(|deadline| deadline.checked_add(waited)));
        result
    }

    /// Returns how long runs have waited on purpose so far.
    pub(crate) fn paused(&self) -> Duration {
        self.paused.get()
    }

    /// Tells whether the deadline stopped the current run.
    pub(crate) fn has_fired(&self) -> bool {
        self.fired.get()
    }

    /// Answers the engine: `true` stops the code with an error it cannot catch.
    pub(crate) fn should_interrupt(&self) -> bool {
        if self.pulse.is_stopping() {
            return true;
        }
        let Some(deadline) = self.deadline.get() else {
            return false;
        };
        let now = Instant::now();
        if now < deadline {
            return false;
        }
        self.fired.set(true);
        self.deadline.set(now.checked_add(UNWINDING));
        true
    }
}
