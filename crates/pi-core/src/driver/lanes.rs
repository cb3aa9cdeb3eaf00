//! The lanes of a session, in one task.
//!
//! Lanes run concurrently but never at the same time: each runs until it has to wait. What a lane does between two
//! waits, such as publishing the start of several tools, therefore reaches the observers in one piece on any number of
//! threads, and lanes that are woken one after the other continue in that order.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

/// How many parts of responses are processed before a new lane starts.
const ARRIVED_PARTS: usize = 16;

type LaneEnd = Result<(), Box<dyn Any + Send>>;
type Lane = BoxFuture<'static, LaneEnd>;

#[derive(Default)]
pub(super) struct Lanes {
    shared: Arc<SharedLanes>,
    /// Counts the lanes that have not ended.
    tracker: TaskTracker,
}

#[derive(Default)]
struct SharedLanes {
    waiting: Mutex<WaitingLanes>,
    added: Notify,
}

/// Lanes that the task has not taken over yet.
#[derive(Default)]
struct WaitingLanes {
    lanes: Vec<Lane>,
    /// Whether there is a task. It ends with the last lane, so that an idle session has none.
    has_task: bool,
}

/// Where a lane starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneStart {
    InTask,
    /// On the thread of the caller, up to its first wait, if the session has no other lane.
    AtOnce,
}

impl Lanes {
    pub(super) fn spawn(&self, lane: impl Future<Output = ()> + Send + 'static, start: LaneStart) {
        // A panic must not end the other lanes.
        let lane = AssertUnwindSafe(self.tracker.track_future(lane)).catch_unwind();
        let mut lane: Lane = lane.boxed();
        let mut waiting = self.shared.waiting();
        if waiting.has_task {
            waiting.lanes.push(lane);
            drop(waiting);
            self.shared.added.notify_one();
            return;
        }
        waiting.has_task = true;
        drop(waiting);
        let mut task = LaneTask {
            shared: Arc::clone(&self.shared),
            running: FuturesUnordered::new(),
            is_done: false,
        };
        let first = match start {
            LaneStart::InTask => Poll::Pending,
            LaneStart::AtOnce => lane.poll_unpin(&mut Context::from_waker(Waker::noop())),
        };
        match first {
            Poll::Ready(ended) => log_panic(&ended),
            Poll::Pending => task.running.push(lane),
        }
        if task.take_waiting() {
            tokio::spawn(task.run());
        }
    }

    /// Waits until all lanes have ended; none may start afterwards.
    pub(super) async fn wait(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl SharedLanes {
    fn waiting(&self) -> MutexGuard<'_, WaitingLanes> {
        self.waiting.lock()
    }
}

fn log_panic(ended: &LaneEnd) {
    if ended.is_err() {
        tracing::error!("a lane panicked");
    }
}

/// Performs the lanes until none is left.
struct LaneTask {
    shared: Arc<SharedLanes>,
    running: FuturesUnordered<Lane>,
    is_done: bool,
}

impl LaneTask {
    async fn run(mut self) {
        while self.take_waiting() {
            tokio::select! {
                biased;
                Some(ended) = self.running.next() => log_panic(&ended),
                () = self.shared.added.notified() => self.process_arrived().await,
            }
        }
    }

    /// Lets the lanes process what their connections have received, so that a response that arrived before a request is
    /// processed before it. A connection passes on one part per turn of the runtime.
    async fn process_arrived(&mut self) {
        for _ in 0..ARRIVED_PARTS {
            tokio::select! {
                biased;
                Some(ended) = self.running.next() => log_panic(&ended),
                () = tokio::task::yield_now() => {}
            }
        }
    }

    /// Takes over the lanes that were added; returns false if none is left, which ends the task.
    fn take_waiting(&mut self) -> bool {
        let mut waiting = self.shared.waiting();
        self.running.extend(waiting.lanes.drain(..));
        self.is_done = self.running.is_empty();
        waiting.has_task = !self.is_done;
        !self.is_done
    }
}

impl Drop for LaneTask {
    /// Ends the lanes that wait for this task if the runtime shuts down before it is done, so that their callers do not
    /// wait forever.
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut waiting = self.shared.waiting();
        waiting.has_task = false;
        let lanes = std::mem::take(&mut waiting.lanes);
        drop(waiting);
        drop(lanes);
    }
}
