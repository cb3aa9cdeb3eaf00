//! News from tasks that are not over yet, such as sessions found so far or a sign-in's question.

use tokio::sync::mpsc;

use super::{App, AppCallback};

/// News on their way: a listing sends a few a second, a sign-in a handful in all.
const CAPACITY: usize = 64;

/// The sending side; clones send to the same application.
#[derive(Clone, Debug)]
pub(crate) struct AppHandle(mpsc::Sender<AppCallback>);

impl AppHandle {
    /// Makes a mailbox and its receiving side.
    pub(super) fn new() -> (Self, mpsc::Receiver<AppCallback>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self(sender), receiver)
    }

    /// Has the loop call a function; dropped if the loop is far behind.
    pub(crate) fn post(&self, callback: impl FnOnce(&mut App) + Send + 'static) {
        if self.0.try_send(Box::new(callback)).is_err() {
            tracing::debug!("the screen is far behind or gone; news were dropped");
        }
    }
}
