//! The state of a session as data, for clients that attach or have missed events.

use pi_core::{GrowingMessage, Queued};
use pi_protocol::{Cursor, QueuedMessage, SessionId, Snapshot};

use super::{AgentSession, LiveClients};

impl AgentSession {
    /// Returns the current state. Events after its cursor change it; one that is already included has no further effect.
    pub fn snapshot(&self) -> Snapshot {
        snapshot_with_message(self).0
    }
}

/// Returns the state of a session and the response that is being streamed at its cursor.
pub(crate) fn snapshot_with_message(session: &AgentSession) -> (Snapshot, Option<GrowingMessage>) {
    // Read first: an event in between is then part of the state and is observed again.
    let (cursor, growing) = session.0.position();
    (state_at(session, cursor), growing)
}

fn state_at(session: &AgentSession, cursor: Cursor) -> Snapshot {
    let context_usage = session.history().context_usage().ok().flatten();
    let queue = session
        .0
        .machine()
        .queue()
        .iter()
        .map(queued_message)
        .collect();
    let (name, session_file, leaf_id) = session.history().with_session(|stored| {
        let file = stored
            .path()
            .map(|path| path.to_string_lossy().into_owned());
        (
            stored.name().map(str::to_owned),
            file,
            stored.leaf_id().cloned(),
        )
    });
    Snapshot {
        session: SessionId::from(session.session_id()),
        cursor,
        status: session.0.control.activity(),
        cwd: session.cwd().to_string_lossy().into_owned(),
        session_file,
        name,
        leaf_id,
        message_count: session.history().message_count(),
        model: session.selection().model(),
        thinking_level: session.selection().thinking_level(),
        tools: session.tools().active_names(),
        queue,
        steering_mode: session.queue().steering_mode(),
        follow_up_mode: session.queue().follow_up_mode(),
        pending: session.requests().pending(),
        context_usage,
        auto_compaction_enabled: session.compaction().is_automatic(),
        observers: LiveClients::of(session).count(),
    }
}

fn queued_message(queued: &Queued) -> QueuedMessage {
    QueuedMessage {
        id: queued.id,
        delivery: queued.delivery,
        text: queued.text.clone(),
    }
}
