//! Delivery of events to listeners: in the order of their numbers, on any number of threads.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, poll};
use parking_lot::Mutex;
use pi_core::Observed;
use pi_protocol::{EntryBody, SessionEvent};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;

use super::harness::SessionHarness;
use crate::session::{AgentSession, SessionListener};

/// Returns what tells the events of these tests apart: the name of the session, or the type of a custom entry.
fn label(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::SessionInfoChanged { name } => name.clone(),
        SessionEvent::EntryAppended { entry } => match &entry.body {
            EntryBody::Custom(custom) => Some(custom.custom_type.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Records the labels of the events that it has processed.
#[derive(Default)]
struct LabelRecorder(Mutex<Vec<String>>);

impl SessionListener for LabelRecorder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.0.lock().extend(label(event));
        })
    }
}

/// Stores an entry for every name of the session.
struct EntryPerName(AgentSession);

impl SessionListener for EntryPerName {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let SessionEvent::SessionInfoChanged { name: Some(name) } = event {
                let entry = self.0.history().append_custom_entry(name, None);
                entry.await.unwrap();
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_listener_receives_the_events_in_the_order_of_the_log() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    let mut observer = session.observe(None);
    let (first, last) = (
        Arc::new(LabelRecorder::default()),
        Arc::new(LabelRecorder::default()),
    );
    let _subscriptions = [
        session.subscribe(Arc::clone(&first) as _),
        // Its events must not overtake the one that it is called with.
        session.subscribe(Arc::new(EntryPerName(session.clone()))),
        session.subscribe(Arc::clone(&last) as _),
    ];
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        let session = session.clone();
        callers.spawn(async move {
            for number in 0..20 {
                let label = format!("{caller}.{number}");
                if number % 2 == 0 {
                    session.history().set_name(&label).await.unwrap();
                } else {
                    let data = Some(json!(number));
                    let entry = session.history().append_custom_entry(&label, data);
                    entry.await.unwrap();
                }
            }
        });
    }
    callers.join_all().await;
    let mut logged = Vec::new();
    while let Some(Observed::Event(envelope)) = observer.try_next() {
        logged.extend(label(&envelope.event));
    }
    assert_eq!(logged.len(), 8 * 20 + 8 * 10);
    assert_eq!(*first.0.lock(), logged);
    assert_eq!(*last.0.lock(), logged);
}

/// Waits at the first event.
#[derive(Default)]
struct GatedListener {
    reached: Notify,
    release: Notify,
    labels: Mutex<Vec<String>>,
}

impl SessionListener for GatedListener {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let is_first = self.labels.lock().is_empty();
            self.labels.lock().push("begin".to_owned());
            if is_first {
                self.reached.notify_one();
                self.release.notified().await;
            }
            self.labels.lock().extend(label(event));
        })
    }
}

/// Stores an entry in another session, which is publishing.
struct ForwardingListener {
    other: AgentSession,
    gate: Arc<GatedListener>,
}

impl SessionListener for ForwardingListener {
    fn on_event<'a>(&'a self, _event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let history = self.other.history();
            let storing = history.append_custom_entry("forwarded", None);
            storing.await.unwrap();
            self.gate.release.notify_one();
        })
    }
}

#[tokio::test]
async fn an_event_of_a_listener_follows_the_current_one_of_another_session() {
    let (one, other) = (SessionHarness::new(), SessionHarness::new());
    let gate = Arc::new(GatedListener::default());
    let _gated = other.session.subscribe(Arc::clone(&gate) as _);
    let _forwarding = one.session.subscribe(Arc::new(ForwardingListener {
        other: other.session.clone(),
        gate: Arc::clone(&gate),
    }));
    let naming = async {
        gate.reached.notified().await;
        one.session.history().set_name("one").await.unwrap();
    };
    let (named, ()) = tokio::join!(other.session.history().set_name("first"), naming);
    named.unwrap();
    let labels = gate.labels.lock();
    assert_eq!(*labels, ["begin", "first", "begin", "forwarded"]);
}

/// Stores an entry in the next session for every name; for the first one, when the listeners of all sessions have
/// reached this point.
struct RingListener {
    next: AgentSession,
    all: Arc<Barrier>,
}

impl SessionListener for RingListener {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let SessionEvent::SessionInfoChanged { name: Some(name) } = event {
                if name.ends_with(".0") {
                    self.all.wait().await;
                }
                let history = self.next.history();
                history.append_custom_entry(name, None).await.unwrap();
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_publish_to_each_other_do_not_block_each_other() {
    for count in [2, 3] {
        let sessions: Vec<_> = (0..count).map(|_| SessionHarness::new()).collect();
        let all = Arc::new(Barrier::new(count));
        let mut recorders = Vec::new();
        let mut subscriptions = Vec::new();
        for (index, harness) in sessions.iter().enumerate() {
            let recorder = Arc::new(LabelRecorder::default());
            let next = &sessions[(index + 1) % count];
            subscriptions.push(harness.session.subscribe(Arc::clone(&recorder) as _));
            subscriptions.push(harness.session.subscribe(Arc::new(RingListener {
                next: next.session.clone(),
                all: Arc::clone(&all),
            })));
            recorders.push(recorder);
        }
        let mut callers = JoinSet::new();
        for (index, harness) in sessions.iter().enumerate() {
            let session = harness.session.clone();
            callers.spawn(async move {
                for round in 0..20 {
                    let name = format!("{index}.{round}");
                    session.history().set_name(&name).await.unwrap();
                }
            });
        }
        let ending = tokio::time::timeout(Duration::from_mins(1), callers.join_all());
        ending.await.expect("the sessions wait for each other");
        for (index, recorder) in recorders.iter().enumerate() {
            let previous = format!("{}.", (index + count - 1) % count);
            let labels = recorder.0.lock();
            let received = labels.iter().filter(|label| label.starts_with(&previous));
            assert_eq!(received.count(), 20, "of {count} sessions");
        }
    }
}

#[tokio::test]
async fn a_listener_receives_only_what_is_published_after_its_subscription() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    let gate = Arc::new(GatedListener::default());
    let _gated = session.subscribe(Arc::clone(&gate) as _);
    let late = Arc::new(LabelRecorder::default());
    let subscribing = async {
        gate.reached.notified().await;
        let mut storing = pin!(session.history().append_custom_entry("second", None));
        assert!(poll!(storing.as_mut()).is_pending());
        let subscription = session.subscribe(Arc::clone(&late) as _);
        gate.release.notify_one();
        storing.await.unwrap();
        subscription
    };
    let (named, _subscription) = tokio::join!(session.history().set_name("first"), subscribing);
    named.unwrap();
    session.history().set_name("third").await.unwrap();
    assert_eq!(*late.0.lock(), ["third"]);
}

#[tokio::test]
async fn the_outline_is_readable_while_the_session_is_written() {
    let harness = SessionHarness::new();
    let history = harness.session.history();
    history.set_name("named").await.unwrap();
    let entry = history.append_custom_entry("kept", None).await.unwrap();
    // The lock that a write holds.
    let outline = history.with_session(|_| history.outline());
    assert_eq!(outline.id, harness.session.session_id());
    assert_eq!(outline.name.as_deref(), Some("named"));
    assert_eq!(outline.leaf.as_ref(), Some(&entry.id));
    assert_eq!(outline.entry_count, harness.entries().len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_made_when_the_call_returns() {
    let harness = SessionHarness::new();
    let naming = harness.session.history().set_name("named");
    naming.now_or_never().unwrap().unwrap();
    assert_eq!(harness.session.session_name().unwrap(), "named");
}
