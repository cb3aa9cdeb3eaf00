//! The recent events of a session, numbered, for any number of observers.
//!
//! Appending never waits: the log keeps a bounded number of events, and an observer that falls behind learns how many
//! it missed. It then reads the session's state and continues from there. A session without observers pays for the
//! log alone.

mod growing_message;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{
    AgentEvent, AssistantMessageEvent, Cursor, Envelope, InputBlock, SessionEvent, SessionId,
};
use serde_json::Value;
use tokio::sync::watch;

pub use growing_message::GrowingMessage;

/// Limits of a log: a client that reconnects after a short interruption finds everything it missed, and an idle session
/// stays small.
const MAX_EVENTS: usize = 1024;
const MAX_BYTES: usize = 512 * 1024;

/// What an observer receives.
#[derive(Debug, Clone)]
pub enum Observed {
    Event(Arc<Envelope>),
    /// Events are no longer available: the observer was too slow, or its cursor belongs to another log. The next events
    /// follow the current state.
    Lagged,
}

/// The log of a session. Clones refer to the same log.
#[derive(Clone)]
pub struct EventLog(Arc<SharedLog>);

struct SharedLog {
    session: SessionId,
    epoch: u64,
    recent: Mutex<RecentEvents>,
    /// The number of the last event; `None` once the log is closed.
    last: watch::Sender<Option<u64>>,
    /// The first event that a waiting observer must be woken for; `u64::MAX` if none waits. Other events need no wake-up.
    awaited: AtomicU64,
}

#[derive(Default)]
struct RecentEvents {
    /// Consecutive events with their sizes, oldest first.
    events: VecDeque<(Arc<Envelope>, usize)>,
    bytes: usize,
    last_seq: u64,
    growing: Option<GrowingMessage>,
}

impl EventLog {
    /// Creates the log of a session. The epoch must differ from that of earlier logs of the session.
    pub fn new(session: &str, epoch: u64) -> Self {
        Self(Arc::new(SharedLog {
            session: session.into(),
            epoch,
            recent: Mutex::default(),
            last: watch::Sender::new(Some(0)),
            awaited: AtomicU64::new(u64::MAX),
        }))
    }

    /// Appends an event and wakes the observers.
    pub fn append(&self, event: SessionEvent, at: i64) -> Arc<Envelope> {
        let mut recent = self.recent();
        recent.last_seq += 1;
        growing_message::follow(&mut recent.growing, &event);
        let envelope = Arc::new(Envelope {
            session: self.0.session.clone(),
            seq: recent.last_seq,
            at,
            event,
        });
        recent.push(Arc::clone(&envelope));
        // Under the lock, so that the numbers are sent in order. An observer that starts to wait meanwhile reads the log once
        // the lock is released.
        let is_awaited = envelope.seq >= self.0.awaited.load(Ordering::SeqCst);
        if is_awaited {
            // The observers that are woken by mistake announce themselves again.
            self.0.awaited.store(u64::MAX, Ordering::SeqCst);
        }
        self.0.last.send_if_modified(|last| {
            let is_open = last.is_some();
            *last = last.map(|_| envelope.seq);
            is_open && is_awaited
        });
        envelope
    }

    /// Returns the position of the last event.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            epoch: self.0.epoch,
            seq: self.recent().last_seq,
        }
    }

    /// Returns the position of the last event, and the response that is being streamed there.
    pub fn position(&self) -> (Cursor, Option<GrowingMessage>) {
        let recent = self.recent();
        let cursor = Cursor {
            epoch: self.0.epoch,
            seq: recent.last_seq,
        };
        (cursor, recent.growing.clone())
    }

    /// Observes the events after a position, or those from now on.
    pub fn observe(&self, from: Option<Cursor>) -> Observer {
        let last = self.0.last.subscribe();
        let current = self.cursor();
        let (next, has_lagged) = match from {
            None => (current.seq + 1, false),
            Some(from) if from.epoch == current.epoch && from.seq <= current.seq => {
                (from.seq + 1, false)
            }
            Some(_) => (current.seq + 1, true),
        };
        Observer {
            log: self.clone(),
            last,
            next,
            has_lagged,
        }
    }

    /// Ends the observers once they have read the remaining events.
    pub fn close(&self) {
        self.0.last.send_replace(None);
    }

    fn recent(&self) -> MutexGuard<'_, RecentEvents> {
        self.0.recent.lock()
    }
}

impl RecentEvents {
    fn push(&mut self, envelope: Arc<Envelope>) {
        let size = size_of(&envelope.event);
        self.bytes += size;
        self.events.push_back((envelope, size));
        while self.events.len() > MAX_EVENTS || (self.bytes > MAX_BYTES && self.events.len() > 1) {
            if let Some((_, size)) = self.events.pop_front() {
                self.bytes -= size;
            }
        }
    }

    /// Returns the event with this number; `None` if it is no longer or not yet there.
    fn get(&self, seq: u64) -> Option<&Arc<Envelope>> {
        let first = self.events.front()?.0.seq;
        let index = usize::try_from(seq.checked_sub(first)?).ok()?;
        self.events.get(index).map(|(envelope, _)| envelope)
    }
}

/// Reads the events of a session at its own pace.
pub struct Observer {
    log: EventLog,
    last: watch::Receiver<Option<u64>>,
    next: u64,
    has_lagged: bool,
}

impl Observer {
    /// Waits for the next event; `None` once the session was closed and everything was read.
    pub async fn next(&mut self) -> Option<Observed> {
        loop {
            if let Some(observed) = self.try_next() {
                return Some(observed);
            }
            if self.last.borrow_and_update().is_none() {
                // Events may have been appended before the log was closed.
                return self.try_next();
            }
            self.announce(self.next);
            if self.try_next_is_empty() && self.last.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Waits until a number of events can be read, or the log is closed.
    pub async fn backlog(&mut self, count: u64) {
        let awaited = self.next.saturating_add(count).saturating_sub(1);
        loop {
            if self.last.borrow_and_update().is_none() {
                return;
            }
            self.announce(awaited);
            let last = self.log.recent().last_seq;
            if self.has_lagged || last >= awaited || self.last.changed().await.is_err() {
                return;
            }
        }
    }

    /// Requests to be woken for an event. Check afterwards whether it has been appended meanwhile.
    fn announce(&self, seq: u64) {
        self.log.0.awaited.fetch_min(seq, Ordering::SeqCst);
    }

    /// Returns the next event if it is there.
    pub fn try_next(&mut self) -> Option<Observed> {
        if std::mem::take(&mut self.has_lagged) {
            return Some(Observed::Lagged);
        }
        let recent = self.log.recent();
        if self.next > recent.last_seq {
            return None;
        }
        if let Some(envelope) = recent.get(self.next) {
            self.next += 1;
            return Some(Observed::Event(Arc::clone(envelope)));
        }
        self.next = recent.last_seq + 1;
        Some(Observed::Lagged)
    }

    /// Returns the next event if it is there and meets a condition.
    pub fn try_next_if(
        &mut self,
        condition: impl FnOnce(&SessionEvent) -> bool,
    ) -> Option<Arc<Envelope>> {
        if self.has_lagged {
            return None;
        }
        let recent = self.log.recent();
        let envelope = recent
            .get(self.next)
            .filter(|envelope| condition(&envelope.event))?;
        self.next += 1;
        Some(Arc::clone(envelope))
    }

    fn try_next_is_empty(&self) -> bool {
        !self.has_lagged && self.next > self.log.recent().last_seq
    }

    /// Returns the position of the last event that was returned.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            epoch: self.log.0.epoch,
            seq: self.next - 1,
        }
    }
}

/// Estimates the memory an event holds on its own. Messages are shared with the conversation.
fn size_of(event: &SessionEvent) -> usize {
    const ENVELOPE: usize = 256;
    let own = match event {
        SessionEvent::Agent(AgentEvent::MessageUpdate {
            assistant_message_event:
                AssistantMessageEvent::TextDelta { delta, .. }
                | AssistantMessageEvent::ThinkingDelta { delta, .. }
                | AssistantMessageEvent::ToolCallDelta { delta, .. },
            ..
        })
        | SessionEvent::BashExecutionUpdate { delta, .. } => delta.len(),
        SessionEvent::Agent(
            AgentEvent::ToolExecutionUpdate {
                partial_result: result,
                ..
            }
            | AgentEvent::ToolExecutionEnd { result, .. },
        ) => {
            let content: usize = result.content.iter().map(block_size).sum();
            content + result.structured_content.as_ref().map_or(0, text_size)
        }
        _ => 0,
    };
    ENVELOPE + own
}

/// Returns the size of the texts in a value.
fn text_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_size).sum(),
        Value::Object(fields) => fields.values().map(text_size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn block_size(block: &InputBlock) -> usize {
    match block {
        InputBlock::Text(text) => text.text.len(),
        InputBlock::Image(image) => image.data.len(),
        InputBlock::Unknown(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn output(text: &str) -> SessionEvent {
        SessionEvent::BashExecutionUpdate {
            id: None,
            delta: text.to_owned(),
        }
    }

    fn seq(observed: Option<Observed>) -> Option<u64> {
        match observed {
            Some(Observed::Event(envelope)) => Some(envelope.seq),
            Some(Observed::Lagged) | None => None,
        }
    }

    #[tokio::test]
    async fn every_observer_reads_all_events_at_its_own_pace() {
        let log = EventLog::new("s", 1);
        let (mut quick, mut slow) = (log.observe(None), log.observe(None));
        log.append(output("a"), 0);
        assert_eq!(seq(quick.next().await), Some(1));
        log.append(output("b"), 0);
        assert_eq!(seq(quick.next().await), Some(2));
        assert_eq!(seq(slow.next().await), Some(1));
        assert_eq!(seq(slow.next().await), Some(2));
        assert_eq!(seq(slow.try_next()), None);
    }

    #[tokio::test]
    async fn a_waiting_observer_is_woken() {
        let log = EventLog::new("s", 1);
        let mut observer = log.observe(None);
        let reading = tokio::spawn(async move { seq(observer.next().await) });
        tokio::task::yield_now().await;
        log.append(output("a"), 0);
        assert_eq!(reading.await.unwrap(), Some(1));
    }

    #[tokio::test]
    async fn observers_are_woken_for_what_they_wait_for() {
        let log = EventLog::new("s", 1);
        let (mut patient, mut quick) = (log.observe(None), log.observe(None));
        let waiting = tokio::spawn(async move {
            patient.backlog(3).await;
            seq(patient.next().await)
        });
        tokio::task::yield_now().await;
        for number in 1..=3 {
            assert!(!waiting.is_finished(), "{number}");
            let reading = tokio::spawn(async move { (seq(quick.next().await), quick) });
            tokio::task::yield_now().await;
            log.append(output("a"), 0);
            let (read, observer) = reading.await.unwrap();
            assert_eq!(read, Some(number));
            quick = observer;
        }
        assert_eq!(waiting.await.unwrap(), Some(1));
        let mut patient = log.observe(None);
        let waiting = tokio::spawn(async move { patient.backlog(3).await });
        tokio::task::yield_now().await;
        log.close();
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn an_observer_that_never_reads_costs_a_bounded_log_and_learns_that_it_lagged() {
        let log = EventLog::new("s", 1);
        let mut observer = log.observe(None);
        let text = "x".repeat(4096);
        for _ in 0..10_000 {
            log.append(output(&text), 0);
        }
        assert!(log.recent().bytes <= MAX_BYTES);
        assert!(matches!(observer.next().await, Some(Observed::Lagged)));
        log.append(output("last"), 0);
        assert_eq!(seq(observer.next().await), Some(10_001));
    }

    #[tokio::test]
    async fn an_observer_resumes_at_its_cursor() {
        let log = EventLog::new("s", 1);
        let mut first = log.observe(None);
        log.append(output("a"), 0);
        log.append(output("b"), 0);
        first.next().await;
        let cursor = first.cursor();
        drop(first);
        assert_eq!(seq(log.observe(Some(cursor)).next().await), Some(2));
        let other_log = Cursor { epoch: 2, seq: 1 };
        let mut lagged = log.observe(Some(other_log));
        assert!(matches!(lagged.next().await, Some(Observed::Lagged)));
    }

    #[tokio::test]
    async fn an_observer_takes_the_next_event_only_if_it_is_wanted() {
        let log = EventLog::new("s", 1);
        let mut observer = log.observe(None);
        assert!(observer.try_next_if(|_| true).is_none());
        log.append(output("a"), 0);
        assert!(observer.try_next_if(|_| false).is_none());
        let taken = observer.try_next_if(|_| true);
        assert_eq!(taken.map(|envelope| envelope.seq), Some(1));
        assert_eq!(observer.cursor(), log.cursor());
        // What was missed is reported before anything else.
        let mut lagged = log.observe(Some(Cursor { epoch: 2, seq: 1 }));
        log.append(output("b"), 0);
        assert!(lagged.try_next_if(|_| true).is_none());
        assert!(matches!(lagged.try_next(), Some(Observed::Lagged)));
    }

    #[tokio::test]
    async fn a_closed_log_ends_its_observers_after_the_last_event() {
        let log = EventLog::new("s", 1);
        let mut observer = log.observe(None);
        log.append(output("a"), 0);
        log.close();
        assert_eq!(seq(observer.next().await), Some(1));
        assert!(observer.next().await.is_none());
    }
}
