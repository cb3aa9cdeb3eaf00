//! Publishes events: to the log, which any number of observers read at their own pace, and to listeners.
//!
//! The publisher awaits the listeners, in order and one at a time: a front end that chose back pressure and cannot keep
//! up slows the session down instead of filling memory. Events triggered by a listener are published within its call.

use std::sync::{Arc, Mutex, Weak};

use futures_util::future::BoxFuture;
use pi_core::{EventLog, Observer};
use pi_env::Env;
use pi_protocol::{Cursor, SessionEvent};

use super::{AgentSession, SessionCore, lock};

/// Receives every event of a session.
///
/// Listeners are called one after the other, in subscription order, after the change is written to
/// the session file. The session awaits each call: a listener must not wait for the session, and
/// should move long work to its own task.
pub trait SessionListener: Send + Sync {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()>;
}

/// Unsubscribes the listener when dropped.
pub struct SessionSubscription {
    core: Weak<SessionCore>,
    id: u64,
}

impl Drop for SessionSubscription {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.publisher.remove(self.id);
        }
    }
}

type Subscribers = Arc<[(u64, Arc<dyn SessionListener>)]>;

tokio::task_local! {
    /// Set while a task publishes an event, and in requests that its listeners make, so that their events do not wait
    /// for the current one. A request may outlive the publication that it was made in.
    static PUBLISHING: Weak<OrderGuard>;
}

/// Held while an event and those triggered by its listeners are published.
type OrderGuard = tokio::sync::OwnedMutexGuard<()>;

pub(super) struct EventPublisher {
    log: EventLog,
    env: Env,
    subscribers: Mutex<(u64, Subscribers)>,
    order: Arc<tokio::sync::Mutex<()>>,
}

impl EventPublisher {
    pub(super) fn new(session_id: &str, env: Env) -> Self {
        // A session is not opened twice in the same millisecond: its file is locked.
        let epoch = u64::try_from(env.now_ms()).unwrap_or_default();
        Self {
            log: EventLog::new(session_id, epoch),
            env,
            subscribers: Mutex::default(),
            order: Arc::default(),
        }
    }

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

    /// Ends observers and listeners.
    pub(super) fn close(&self) {
        self.log.close();
        lock(&self.subscribers).1 = Arc::default();
    }

    async fn publish(&self, event: impl FnOnce() -> SessionEvent) {
        if let Some(_current) = current_publication() {
            return self.publish_each(event()).await;
        }
        let guard = Arc::new(Arc::clone(&self.order).lock_owned().await);
        let publishing = self.publish_each(event());
        PUBLISHING.scope(Arc::downgrade(&guard), publishing).await;
    }

    async fn publish_each(&self, event: SessionEvent) {
        let envelope = self.log.append(event, self.env.now_ms());
        let subscribers = Arc::clone(&lock(&self.subscribers).1);
        for (_, listener) in subscribers.iter() {
            listener.on_event(&envelope.event).await;
        }
    }
}

/// Returns the publication that this task is part of. Events of other tasks wait until it is dropped.
fn current_publication() -> Option<Arc<OrderGuard>> {
    PUBLISHING.try_with(Weak::upgrade).ok().flatten()
}

/// Returns whether this task is currently publishing an event.
pub(super) fn is_publishing() -> bool {
    current_publication().is_some()
}

/// Makes work that another task performs part of the current publication.
pub(super) fn within_publication<T: Send + 'static>(
    work: BoxFuture<'static, T>,
) -> BoxFuture<'static, T> {
    match PUBLISHING.try_with(Weak::clone) {
        Ok(publication) => Box::pin(PUBLISHING.scope(publication, work)),
        Err(_) => work,
    }
}

impl AgentSession {
    /// Observes the events after a position, or those from now on. An observer never delays the session; one that falls
    /// behind is notified and continues from the current state.
    pub fn observe(&self, from: Option<Cursor>) -> Observer {
        self.0.publisher.log.observe(from)
    }

    pub fn subscribe(&self, listener: Arc<dyn SessionListener>) -> SessionSubscription {
        SessionSubscription {
            id: self.0.publisher.add(listener),
            core: Arc::downgrade(&self.0),
        }
    }
}

impl SessionCore {
    /// Notifies the listeners.
    pub(super) async fn publish(&self, event: SessionEvent) {
        self.publish_with(|| event).await;
    }

    /// Notifies the listeners of an event that is created when its turn has come.
    pub(super) async fn publish_with(&self, event: impl FnOnce() -> SessionEvent) {
        self.publisher.publish(event).await;
    }

    /// Adds a change to the log. For events that the compatibility wire omits: the listeners are front ends that use
    /// it, and callers need not wait for them.
    pub(super) fn log_change(&self, event: SessionEvent) {
        let publisher = &self.publisher;
        publisher.log.append(event, publisher.env.now_ms());
    }

    /// Calls the hooks, then notifies the listeners.
    pub(super) async fn publish_with_hooks(&self, event: SessionEvent) {
        self.participants.on_event(&event).await;
        self.publish(event).await;
    }
}
