//! News from tasks that are not over yet, such as sessions found so far or a sign-in's question.

use tokio::sync::mpsc;

use super::{App, FollowUp};

/// News on their way: a listing sends a few a second, a sign-in a handful in all.
const CAPACITY: usize = 64;

/// The sending side; clones send to the same application.
#[derive(Clone, Debug)]
pub(crate) struct Mailbox(mpsc::Sender<FollowUp>);

impl Mailbox {
    /// Makes a mailbox and its receiving side.
    pub(super) fn new() -> (Self, mpsc::Receiver<FollowUp>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self(sender), receiver)
    }

    /// Has the loop call a function; dropped if the loop is far behind.
    pub(crate) fn post(&self, follow_up: impl FnOnce(&mut App) + Send + 'static) {
        if self.0.try_send(Box::new(follow_up)).is_err() {
            tracing::debug!("the screen is far behind or gone; news were dropped");
        }
    }
}
