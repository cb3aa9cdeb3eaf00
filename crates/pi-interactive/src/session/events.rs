//! Forwards events from the live session to the screen.
//!
//! The session awaits its listeners. A bounded channel decouples the two: a burst of deltas is handled at
//! once, and a slow screen applies backpressure to the session instead of filling memory. Of the request
//! phase only the latest value matters, so it never blocks.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_host::{AgentSession, SessionListener, SessionSubscription};
use pi_protocol::{SessionEvent, StreamPhase};
use tokio::sync::{mpsc, watch};

/// Channel capacity: more than the deltas of a frame, small enough for backpressure.
const CAPACITY: usize = 256;

pub(crate) enum SessionUpdate {
    Event(SessionEvent),
    /// The phase of the current request; `None` between requests.
    Phase(Option<StreamPhase>),
}

pub(crate) struct SessionEvents {
    events: mpsc::Receiver<SessionEvent>,
    phase: watch::Receiver<Option<StreamPhase>>,
    _subscription: SessionSubscription,
}

impl SessionEvents {
    pub(crate) fn subscribe(session: &AgentSession) -> Self {
        let (sender, events) = mpsc::channel(CAPACITY);
        Self {
            events,
            phase: session.request_phase(),
            _subscription: session.subscribe(Arc::new(EventForwarder(sender))),
        }
    }

    /// Waits for the next update; pends forever once the session is gone.
    pub(crate) async fn next(&mut self) -> SessionUpdate {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => SessionUpdate::Event(event),
            Ok(()) = self.phase.changed() => SessionUpdate::Phase(*self.phase.borrow_and_update()),
            else => std::future::pending().await,
        }
    }

    /// Returns the next event if one is queued.
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
                tracing::debug!("screen switched to another session");
            }
        })
    }
}
