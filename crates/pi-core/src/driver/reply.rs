//! The reply to a request, from its lane to its caller.

use std::convert::Infallible;

use tokio::sync::oneshot;

use super::backend::Backend;
use crate::machine::{Rejection, Reply};

/// The reply to a request, with what belongs to it.
///
/// What follows the reply, such as the run of a prompt, begins when this is dropped.
pub struct LaneReply<B: Backend> {
    pub reply: Reply,
    /// Why a prompt was rejected, or a message could not be stored.
    pub error: Option<B::Error>,
    /// The result of the compaction that was requested.
    pub compaction: Option<B::Compaction>,
    /// Closes the channel when dropped.
    _release: Option<oneshot::Sender<Infallible>>,
}

/// A reply that has not arrived yet. Dropping it does not affect the request.
#[must_use = "the reply may be a rejection"]
pub struct PendingReply<B: Backend>(oneshot::Receiver<LaneReply<B>>);

impl<B: Backend> PendingReply<B> {
    pub async fn reply(self) -> LaneReply<B> {
        self.0.await.unwrap_or_else(|_| {
            // Only a runtime that shuts down ends a lane before its reply.
            tracing::debug!("a request was dropped before its reply");
            LaneReply {
                reply: Reply::Rejected(Rejection::Crashed),
                error: None,
                compaction: None,
                _release: None,
            }
        })
    }
}

/// The lane's end of a reply.
pub(super) struct Replier<B: Backend>(oneshot::Sender<LaneReply<B>>);

/// Ends when the caller has processed the reply, or does not wait for it.
pub(super) struct ReplyRelease(Option<oneshot::Receiver<Infallible>>);

pub(super) fn channel<B: Backend>() -> (Replier<B>, PendingReply<B>) {
    let (sender, receiver) = oneshot::channel();
    (Replier(sender), PendingReply(receiver))
}

impl<B: Backend> Replier<B> {
    /// Sends the reply; returns it if no caller waits for it.
    pub(super) fn send(
        self,
        reply: Reply,
        error: Option<B::Error>,
        compaction: Option<B::Compaction>,
    ) -> Result<ReplyRelease, LaneReply<B>> {
        let (release, released) = oneshot::channel();
        self.0.send(LaneReply {
            reply,
            error,
            compaction,
            _release: Some(release),
        })?;
        Ok(ReplyRelease(Some(released)))
    }
}

impl ReplyRelease {
    pub(super) fn released() -> Self {
        Self(None)
    }

    pub(super) async fn wait(self) {
        if let Some(released) = self.0 {
            let Err(_closed) = released.await;
        }
    }
}
