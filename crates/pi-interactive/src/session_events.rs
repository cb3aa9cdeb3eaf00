//! The way of events from the live session to the screen.
//!
//! The session waits for its listeners. A bounded channel keeps the two apart: a burst of deltas is
//! taken in one go, and a screen that falls behind slows the session down instead of filling memory.
//! What a request is doing matters in its latest form only and waits for nobody.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::StreamPhase;
use pi_runtime::{AgentSession, SessionEvent, SessionListener, SessionSubscription};
use tokio::sync::{mpsc, watch};

/// Events on their way: more than a frame's worth of deltas, far less than a burst could hold.
const CAPACITY: usize = 256;

/// What is heard of a session.
pub(crate) enum SessionUpdate {
    Event(SessionEvent),
    /// The request under way does something else; none when there is none.
    Phase(Option<StreamPhase>),
}

/// A subscription to one session.
pub(crate) struct SessionEvents {
    events: mpsc::Receiver<SessionEvent>,
    phase: watch::Receiver<Option<StreamPhase>>,
    _subscription: SessionSubscription,
}

impl SessionEvents {
    /// Begins to hear of a session.
    pub(crate) fn subscribe(session: &AgentSession) -> Self {
        let (sender, events) = mpsc::channel(CAPACITY);
        Self {
            events,
            phase: session.request_phase(),
            _subscription: session.subscribe(Arc::new(EventForwarder(sender))),
        }
    }

    /// Waits for what is heard next; never returns once the session is gone.
    pub(crate) async fn next(&mut self) -> SessionUpdate {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => SessionUpdate::Event(event),
            Ok(()) = self.phase.changed() => SessionUpdate::Phase(*self.phase.borrow_and_update()),
            else => std::future::pending().await,
        }
    }

    /// Returns the next event if it is there.
    pub(crate) fn try_next(&mut self) -> Option<SessionEvent> {
        self.events.try_recv().ok()
    }
}

impl std::fmt::Debug for SessionEvents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SessionLink")
    }
}

struct EventForwarder(mpsc::Sender<SessionEvent>);

impl SessionListener for EventForwarder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let event = event.clone();
        Box::pin(async move {
            if self.0.send(event).await.is_err() {
                tracing::debug!("the screen has turned to another session");
            }
        })
    }
}
