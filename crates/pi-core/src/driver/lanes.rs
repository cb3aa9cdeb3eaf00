//! The lanes of a session, in one task.
//!
//! Lanes run concurrently but never at the same time: each runs until it has to wait. What a lane does between two
//! waits, such as publishing the start of several tools, therefore reaches the observers in one piece on any number of
//! threads, and lanes that are woken one after the other continue in that order.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

type Lane = BoxFuture<'static, Result<(), Box<dyn Any + Send>>>;

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

impl Lanes {
    pub(super) fn spawn(&self, lane: impl Future<Output = ()> + Send + 'static) {
        // A panic must not end the other lanes.
        let lane = AssertUnwindSafe(self.tracker.track_future(lane)).catch_unwind();
        let needs_task = {
            let mut waiting = self.shared.waiting();
            waiting.lanes.push(lane.boxed());
            !std::mem::replace(&mut waiting.has_task, true)
        };
        if needs_task {
            let task = LaneTask {
                shared: Arc::clone(&self.shared),
                is_done: false,
            };
            tokio::spawn(task.run());
        } else {
            self.shared.added.notify_one();
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
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Performs the lanes until none is left.
struct LaneTask {
    shared: Arc<SharedLanes>,
    is_done: bool,
}

impl LaneTask {
    async fn run(mut self) {
        let mut running = FuturesUnordered::new();
        while self.take_waiting(&mut running) {
            tokio::select! {
                biased;
                Some(ended) = running.next() => {
                    if ended.is_err() {
                        tracing::error!("a lane panicked");
                    }
                }
                () = self.shared.added.notified() => {}
            }
        }
    }

    /// Takes over the lanes that were added; returns false if none is left, which ends the task.
    fn take_waiting(&mut self, running: &mut FuturesUnordered<Lane>) -> bool {
        let mut waiting = self.shared.waiting();
        running.extend(waiting.lanes.drain(..));
        waiting.has_task = !running.is_empty();
        self.is_done = running.is_empty();
        !self.is_done
    }
}

impl Drop for LaneTask {
    /// Ends the lanes that wait for this task if the runtime shuts down before it is done, so that their callers do not
    /// wait for ever.
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
