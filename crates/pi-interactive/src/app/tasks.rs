//! Work that runs outside of the event loop and ends in a message.

use std::future::Future;

use futures_util::future::BoxFuture;
use pi_host::StartOrder;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::message::AppMsg;

/// Capacity of the channel: a listing sends a few messages per second, a sign-in a handful in total.
const CAPACITY: usize = 64;

/// Posts messages to the application loop; clones share the channel.
#[derive(Clone, Debug)]
pub(crate) struct AppHandle(mpsc::Sender<AppMsg>);

impl AppHandle {
    pub(crate) fn new() -> (Self, mpsc::Receiver<AppMsg>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self(sender), receiver)
    }

    /// Queues a message for the loop; drops it if the queue is full.
    pub(crate) fn post(&self, message: impl Into<AppMsg>) {
        if self.0.try_send(message.into()).is_err() {
            tracing::debug!("dropped a message: the UI is busy or gone");
        }
    }
}

/// Work with a result for a controller.
pub(crate) struct AppTask {
    label: &'static str,
    work: TaskWork,
}

enum TaskWork {
    Async(BoxFuture<'static, AppMsg>),
    /// Runs on its own thread.
    Blocking(Box<dyn FnOnce() -> AppMsg + Send>),
}

impl AppTask {
    pub(crate) fn new<M: Into<AppMsg>>(
        label: &'static str,
        work: impl Future<Output = M> + Send + 'static,
    ) -> Self {
        Self {
            label,
            // Boxed, so that the task machinery is compiled once and not per future type.
            work: TaskWork::Async(Box::pin(async move {
                let message: AppMsg = work.await.into();
                message
            })),
        }
    }

    pub(crate) fn blocking<M: Into<AppMsg>>(
        label: &'static str,
        work: impl FnOnce() -> M + Send + 'static,
    ) -> Self {
        Self {
            label,
            work: TaskWork::Blocking(Box::new(move || -> AppMsg { work().into() })),
        }
    }

    /// What the task does, for logs and tests.
    #[cfg(test)]
    pub(crate) fn label(&self) -> &'static str {
        self.label
    }
}

impl std::fmt::Debug for AppTask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("AppTask").field(&self.label).finish()
    }
}

/// The running tasks and the messages they post.
#[derive(Debug)]
pub(crate) struct AppTasks {
    running: JoinSet<AppMsg>,
    /// Requests to the session reach it in the order in which the user made them.
    order: StartOrder,
    handle: AppHandle,
    posted: mpsc::Receiver<AppMsg>,
}

impl AppTasks {
    pub(crate) fn new() -> Self {
        let (handle, posted) = AppHandle::new();
        Self {
            running: JoinSet::new(),
            order: StartOrder::default(),
            handle,
            posted,
        }
    }

    /// Returns a handle that tasks use to post messages before they complete.
    pub(crate) fn handle(&self) -> AppHandle {
        self.handle.clone()
    }

    pub(crate) fn spawn(&mut self, task: AppTask) {
        match task.work {
            TaskWork::Async(work) => self.running.spawn(self.order.add(work)),
            TaskWork::Blocking(work) => self.running.spawn_blocking(work),
        };
    }

    /// Waits for the next message; pends forever while nothing runs.
    pub(crate) async fn next(&mut self) -> AppMsg {
        loop {
            tokio::select! {
                // Messages a task posted come before its completion.
                biased;
                Some(message) = self.posted.recv() => return message,
                Some(done) = self.running.join_next() => match done {
                    Ok(message) => return message,
                    Err(error) => tracing::error!(%error, "UI task failed"),
                },
                else => std::future::pending().await,
            }
        }
    }
}
