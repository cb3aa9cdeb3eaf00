//! Publishes events: to the log, which any number of observers read at their own pace, and to listeners.
//!
//! Events are numbered when they are published, and every listener receives them in the order of their numbers. The
//! publisher awaits the listeners, in order and one at a time: a front end that chose back pressure and cannot keep up
//! slows the session down instead of filling memory. An event that a listener triggers follows the one it is called with,
//! and one that it triggers in another session follows those that are being delivered there: listeners wait for no
//! delivery, so that sessions whose listeners use each other cannot block each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_core::{EventLog, GrowingMessage, Observer};
use pi_env::Env;
use pi_protocol::{Cursor, Envelope, SessionEvent};

use super::{AgentSession, SessionCore};

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

/// A listener, with its ID and the number of the last event before its subscription.
type Subscriber = (u64, u64, Arc<dyn SessionListener>);

type Subscribers = Arc<[Subscriber]>;

/// Whether a publication is still delivering events.
type IsDelivering = Arc<AtomicBool>;

tokio::task_local! {
    /// The publications of any sessions whose listeners this task runs, and those that a request of a listener was made
    /// in. A request may outlive them.
    static PUBLICATIONS: Arc<[IsDelivering]>;
}

/// Returns whether this task runs a listener of any session, or a request that the listener may be waiting for.
fn is_within_listener() -> bool {
    let is_delivering = PUBLICATIONS.try_with(|publications| {
        let mut publications = publications.iter();
        publications.any(|publication| publication.load(Ordering::Relaxed))
    });
    is_delivering.unwrap_or(false)
}

/// Events on their way to the listeners.
#[derive(Default)]
struct DeliveryQueue {
    /// Numbered events, oldest first.
    events: VecDeque<Arc<Envelope>>,
    /// The publication that delivers them.
    current: Option<IsDelivering>,
}

impl DeliveryQueue {
    /// Returns whether this task is part of the current publication.
    fn is_within_current(&self) -> bool {
        self.current.as_ref().is_some_and(|current| {
            let is_part = PUBLICATIONS.try_with(|publications| {
                publications.iter().any(|outer| Arc::ptr_eq(outer, current))
            });
            is_part.unwrap_or(false)
        })
    }
}

pub(super) struct EventPublisher {
    log: EventLog,
    env: Env,
    subscribers: Mutex<(u64, Subscribers)>,
    queue: Mutex<DeliveryQueue>,
    /// Held while events are delivered.
    order: tokio::sync::Mutex<()>,
}

impl EventPublisher {
    pub(super) fn new(session_id: &str, env: Env) -> Self {
        // A session is not opened twice in the same millisecond: its file is locked.
        let epoch = u64::try_from(env.now_ms()).unwrap_or_default();
        Self {
            log: EventLog::new(session_id, epoch),
            env,
            subscribers: Mutex::default(),
            queue: Mutex::default(),
            order: tokio::sync::Mutex::default(),
        }
    }

    fn add(&self, listener: Arc<dyn SessionListener>) -> u64 {
        let mut subscribers = self.subscribers.lock();
        let id = subscribers.0;
        let known = subscribers.1.iter().cloned();
        let subscriber = (id, self.log.cursor().seq, listener);
        subscribers.1 = known.chain([subscriber]).collect();
        subscribers.0 += 1;
        id
    }

    fn remove(&self, id: u64) {
        let mut subscribers = self.subscribers.lock();
        let others = subscribers.1.iter().filter(|(known, ..)| *known != id);
        subscribers.1 = others.cloned().collect();
    }

    /// Ends observers and listeners.
    pub(super) fn close(&self) {
        self.log.close();
        self.subscribers.lock().1 = Arc::default();
    }

    /// Publishes an event and waits until the listeners have processed it. Within a listener of any session it does not
    /// wait for a delivery in progress, which ends with this event.
    async fn publish(&self, event: impl FnOnce() -> SessionEvent) {
        {
            // Created and numbered under the lock, so that a later event never has an older state.
            let mut queue = self.queue.lock();
            let envelope = self.log.append(event(), self.env.now_ms());
            queue.events.push_back(envelope);
            if queue.current.is_some() && is_within_listener() {
                return;
            }
        }
        // A listener may wait here for a publication that began after the check. Publications that wait for each other
        // would each have begun before the next one, which is impossible in a cycle.
        let _order = self.order.lock().await;
        if self.queue.lock().events.is_empty() {
            // The publication before this one has delivered it.
            return;
        }
        let publication = Publication::begin(&self.queue);
        let outer = PUBLICATIONS.try_with(Arc::clone).unwrap_or_default();
        let publications = outer.iter().cloned();
        let publications = publications
            .chain([Arc::clone(&publication.mark)])
            .collect();
        let delivering = self.deliver(&publication);
        PUBLICATIONS.scope(publications, delivering).await;
    }

    /// Delivers the queued events in the order of their numbers.
    async fn deliver(&self, publication: &Publication<'_>) {
        while let Some(envelope) = publication.next() {
            let subscribers = Arc::clone(&self.subscribers.lock().1);
            for (_, last, listener) in subscribers.iter() {
                if envelope.seq > *last {
                    listener.on_event(&envelope.event).await;
                }
            }
        }
    }

    fn is_publishing(&self) -> bool {
        self.queue.lock().is_within_current()
    }
}

/// Delivers events until there is none; ends when dropped.
struct Publication<'publisher> {
    mark: IsDelivering,
    queue: &'publisher Mutex<DeliveryQueue>,
}

impl<'publisher> Publication<'publisher> {
    fn begin(queue: &'publisher Mutex<DeliveryQueue>) -> Self {
        let mark = Arc::new(AtomicBool::new(true));
        queue.lock().current = Some(Arc::clone(&mark));
        Self { mark, queue }
    }

    /// Returns the next event; if there is none, the publication ends at the same moment, so that no listener relies
    /// on it afterwards.
    fn next(&self) -> Option<Arc<Envelope>> {
        let mut queue = self.queue.lock();
        let next = queue.events.pop_front();
        if next.is_none() {
            self.end(&mut queue);
        }
        next
    }

    fn end(&self, queue: &mut DeliveryQueue) {
        queue.current = None;
        self.mark.store(false, Ordering::Relaxed);
    }
}

impl Drop for Publication<'_> {
    fn drop(&mut self) {
        self.end(&mut self.queue.lock());
    }
}

/// Makes work that another task performs part of the current publications.
pub(super) fn within_publication<T: Send + 'static>(
    work: BoxFuture<'static, T>,
) -> BoxFuture<'static, T> {
    match PUBLICATIONS.try_with(Arc::clone) {
        Ok(publications) => Box::pin(PUBLICATIONS.scope(publications, work)),
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
    /// Returns the position of the last event, and the response that is being streamed there.
    pub(super) fn position(&self) -> (Cursor, Option<GrowingMessage>) {
        self.publisher.log.position()
    }

    /// Returns whether this task runs a listener of this session, or a request that one has made.
    pub(super) fn is_publishing(&self) -> bool {
        self.publisher.is_publishing()
    }

    /// Notifies the listeners.
    pub(super) async fn publish(&self, event: SessionEvent) {
        self.publish_with(|| event).await;
    }

    /// Notifies the listeners of an event that is created when it is numbered.
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
