//! Telling listeners, in order and one at a time.
//!
//! Whoever tells waits for the listeners: a front end that cannot keep up slows the session down
//! instead of filling memory. What a listener itself sets off is told within.

use std::sync::{Arc, Mutex, Weak};

use futures_util::future::BoxFuture;
use pi_agent::AgentEvent;

use super::{AgentSession, SessionCore, lock};
use crate::event::SessionEvent;

/// Hears of everything that happens in a session.
///
/// Listeners are told one after the other, in the order of their subscription, after the session
/// file has what they are told of. The session waits for each: a listener must not wait for the
/// session in turn, and hands long work to a task of its own.
pub trait SessionListener: Send + Sync {
    /// Takes an event.
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()>;
}

/// A subscription; dropping it ends it.
pub struct SessionSubscription {
    core: Weak<SessionCore>,
    id: u64,
}

impl Drop for SessionSubscription {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.broadcast.remove(self.id);
        }
    }
}

type Subscribers = Arc<[(u64, Arc<dyn SessionListener>)]>;

tokio::task_local! {
    /// Set while a task tells listeners, so that what they set off does not wait for its own turn.
    static PUBLISHING: ();
}

/// The listeners of a session.
#[derive(Default)]
pub(super) struct EventPublisher {
    subscribers: Mutex<(u64, Subscribers)>,
    turn: tokio::sync::Mutex<()>,
}

impl EventPublisher {
    fn add(&self, listener: Arc<dyn SessionListener>) -> u64 {
        let mut subscribers = lock(&self.subscribers);
        let id = subscribers.0;
        let known = subscribers.1.iter().cloned();
        subscribers.1 = known.chain([(id, listener)]).collect();
        subscribers.0 += 1;
        id
    }

    fn remove(&self, id: u64) {
        let mut subscribers = lock(&self.subscribers);
        let others = subscribers.1.iter().filter(|(known, _)| *known != id);
        subscribers.1 = others.cloned().collect();
    }

    pub(super) fn clear(&self) {
        lock(&self.subscribers).1 = Arc::default();
    }

    async fn tell(&self, event: &SessionEvent) {
        if is_publishing() {
            return self.publish_each(event).await;
        }
        let _turn = self.turn.lock().await;
        PUBLISHING.scope((), self.publish_each(event)).await;
    }

    async fn publish_each(&self, event: &SessionEvent) {
        let subscribers = Arc::clone(&lock(&self.subscribers).1);
        for (_, listener) in subscribers.iter() {
            listener.on_event(event).await;
        }
    }
}

/// Returns whether this task is in the middle of telling listeners.
pub(super) fn is_publishing() -> bool {
    PUBLISHING.try_with(|()| ()).is_ok()
}

impl AgentSession {
    /// Begins to hear of what happens.
    pub fn subscribe(&self, listener: Arc<dyn SessionListener>) -> SessionSubscription {
        SessionSubscription {
            id: self.0.broadcast.add(listener),
            core: Arc::downgrade(&self.0),
        }
    }

    /// Tells the listeners.
    pub(super) async fn publish(&self, event: SessionEvent) {
        self.0.broadcast.tell(&event).await;
    }

    /// Tells the hooks, then the listeners.
    pub(super) async fn publish_with_hooks(&self, event: SessionEvent) {
        self.0.hooks.on_event(&event).await;
        self.0.broadcast.tell(&event).await;
    }

    pub(super) async fn publish_step(&self, step: AgentEvent) {
        self.publish(SessionEvent::Agent(step)).await;
    }
}
