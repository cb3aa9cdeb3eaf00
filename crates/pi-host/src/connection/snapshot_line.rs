//! The `snapshot` line: the state of a session for a client that has missed events.

use pi_protocol::{AgentMessage, Cursor, Snapshot};
use serde::Serialize;

use crate::commands::session_json::{self, EntryRange};
use crate::session::{AgentSession, snapshot_with_message};

/// The state, without the entries.
#[derive(Serialize)]
struct SnapshotHead<'snapshot> {
    r#type: &'static str,
    /// The text form of the position.
    cursor: String,
    #[serde(flatten)]
    snapshot: &'snapshot Snapshot,
    /// The response that is being streamed, as far as events up to the cursor have reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<AgentMessage>,
}

/// Builds the line and returns its position. `entries` selects the entries that it has.
pub(super) fn snapshot_line(
    session: &AgentSession,
    entries: Option<&EntryRange>,
) -> (Cursor, String) {
    let (snapshot, growing) = snapshot_with_message(session);
    let head = SnapshotHead {
        r#type: "snapshot",
        cursor: snapshot.cursor.to_string(),
        snapshot: &snapshot,
        message: growing.map(|growing| AgentMessage::Assistant(growing.message().into())),
    };
    // Serializing the state cannot fail.
    let mut line = pi_protocol::json::to_string(&head).unwrap_or_default();
    let fields = entries.map(|range| {
        let history = session.history();
        history.with_session(|session| session_json::range_fields(session, range))
    });
    match fields {
        Some(Ok(fields)) => {
            line.pop();
            line.push(',');
            line.push_str(&fields);
            line.push('}');
        }
        // The client reads the entries from the start.
        Some(Err(error)) => tracing::debug!(%error, "snapshot without entries"),
        None => {}
    }
    (snapshot.cursor, line)
}
