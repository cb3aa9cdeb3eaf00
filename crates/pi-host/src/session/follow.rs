//! A session that another process runs: this one reads its file, and republishes its events.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pi_protocol::{EntryId, Model, SessionEvent, ThinkingLevel};
use pi_session::{PackedIndex, SessionError, SessionTotals};

use super::AgentSession;
use super::transcript::Transcript;

/// Follows the session of another process. For sessions that were opened read-only.
#[derive(Clone, Copy)]
pub(crate) struct Follower<'session>(&'session AgentSession);

/// The clients of other processes that follow a session.
#[derive(Clone, Copy)]
pub struct LiveClients<'session>(&'session AgentSession);

impl<'session> LiveClients<'session> {
    pub fn of(session: &'session AgentSession) -> Self {
        Self(session)
    }

    pub fn count(self) -> usize {
        self.0.0.observers.load(Ordering::Relaxed)
    }

    /// Returns the index of the session file for a client that reads it, and the totals so far.
    pub(crate) fn index(self) -> Option<(PackedIndex, SessionTotals)> {
        let transcript = self.0.0.transcript();
        let packed = PackedIndex::of(transcript.session())?;
        Some((packed, transcript.counted().clone()))
    }

    /// Records the number of clients, and publishes a change.
    pub(crate) async fn set_count(self, count: usize) {
        let core = &self.0.0;
        if core.observers.swap(count, Ordering::Relaxed) != count {
            core.publish(SessionEvent::ObserversChanged { count }).await;
        }
    }
}

impl<'session> Follower<'session> {
    pub(crate) fn of(session: &'session AgentSession) -> Self {
        Self(session)
    }
}

impl Follower<'_> {
    /// Reads the entries that were appended since, and moves to the last one.
    pub(crate) fn read_appended(self) -> Result<(), SessionError> {
        self.0.writer().write(Transcript::read_appended)
    }

    /// Moves to the entry at which the conversation is in the other process.
    pub(crate) fn move_to(self, leaf: Option<&EntryId>) -> Result<(), SessionError> {
        let current = self.0.history().outline().leaf;
        if current.as_ref() == leaf {
            return Ok(());
        }
        self.0.writer().write(|transcript| transcript.move_to(leaf))
    }

    /// Continues with the totals of the other process, which has the same entries.
    pub(crate) fn adopt_totals(self, totals: SessionTotals) {
        self.0.0.transcript().adopt_totals(totals);
    }

    pub(crate) fn select(self, model: Option<Arc<Model>>, thinking_level: ThinkingLevel) {
        let mut machine = self.0.0.machine();
        let selection = machine.selection_mut();
        selection.model = model;
        selection.thinking_level = thinking_level;
    }

    /// Publishes an event of the other process to the listeners of this one.
    pub(crate) async fn publish(self, event: SessionEvent) {
        self.0.0.publish(event).await;
    }
}
