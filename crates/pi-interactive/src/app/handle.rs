//! A handle for calling back into the application from tasks, such as with listed sessions or a sign-in
//! prompt.

use tokio::sync::mpsc;

use super::{App, AppCallback};

/// Capacity of the channel: a listing sends a few callbacks per second, a sign-in a handful in total.
const CAPACITY: usize = 64;

/// Posts callbacks to the application loop; clones share the channel.
#[derive(Clone, Debug)]
pub(crate) struct AppHandle(mpsc::Sender<AppCallback>);

impl AppHandle {
    pub(super) fn new() -> (Self, mpsc::Receiver<AppCallback>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self(sender), receiver)
    }

    /// Queues a callback for the loop; drops it if the queue is full.
    pub(crate) fn post(&self, callback: impl FnOnce(&mut App) + Send + 'static) {
        if self.0.try_send(Box::new(callback)).is_err() {
            tracing::debug!("dropped a callback: the UI is busy or gone");
        }
    }
}
