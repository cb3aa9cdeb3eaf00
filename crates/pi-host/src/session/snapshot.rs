//! The state of a session as data, for clients that attach or have missed events.

use pi_core::{GrowingMessage, Queued};
use pi_protocol::{Cursor, QueuedMessage, SessionId, Snapshot};

use super::{AgentSession, LiveClients};

impl AgentSession {
    /// Returns the current state. Events after its cursor change it; one that is already included has no further effect.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_with_message().0
    }

    /// Returns the current state and the response that is being streamed at its cursor.
    pub(crate) fn snapshot_with_message(&self) -> (Snapshot, Option<GrowingMessage>) {
        // Read first: an event in between is then part of the state and is observed again.
        let (cursor, growing) = self.position();
        (self.state_at(cursor), growing)
    }

    fn state_at(&self, cursor: Cursor) -> Snapshot {
        let context_usage = self.history().context_usage().ok().flatten();
        let queue = self
            .0
            .machine()
            .queue()
            .iter()
            .map(queued_message)
            .collect();
        let (name, session_file, leaf_id) = self.history().with_session(|session| {
            let file = session
                .path()
                .map(|path| path.to_string_lossy().into_owned());
            (
                session.name().map(str::to_owned),
                file,
                session.leaf_id().cloned(),
            )
        });
        Snapshot {
            session: SessionId::from(self.session_id()),
            cursor,
            status: self.0.control.activity(),
            cwd: self.cwd().to_string_lossy().into_owned(),
            session_file,
            name,
            leaf_id,
            message_count: self.history().message_count(),
            model: self.selection().model(),
            thinking_level: self.selection().thinking_level(),
            tools: self.tools().active_names(),
            queue,
            steering_mode: self.queue().steering_mode(),
            follow_up_mode: self.queue().follow_up_mode(),
            pending: self.requests().pending(),
            context_usage,
            auto_compaction_enabled: self.compaction().is_automatic(),
            observers: LiveClients::of(self).count(),
        }
    }
}

fn queued_message(queued: &Queued) -> QueuedMessage {
    QueuedMessage {
        id: queued.id,
        delivery: queued.delivery,
        text: queued.text.clone(),
    }
}
