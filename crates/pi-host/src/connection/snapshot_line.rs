//! The `snapshot` line: the state of a session for a client that has missed events.

use pi_export::{EntryRange, entry_range_fields};
use pi_protocol::{AgentMessage, Cursor, Snapshot};
use serde::Serialize;

use super::index_line::IndexLine;
use crate::session::{AgentSession, snapshot_with_message};

/// The state, without the entries.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotHead<'snapshot> {
    r#type: &'static str,
    /// The text form of the position.
    cursor: String,
    #[serde(flatten)]
    snapshot: &'snapshot Snapshot,
    /// Number of entries in the file. A client that finds more there is ahead of `leafId`.
    entry_count: usize,
    /// The response that is being streamed, as far as events up to the cursor have reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<AgentMessage>,
    /// Where the entries are in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<IndexLine>,
}

/// Builds the line and returns its position. `entries` selects the entries that it has; `has_index` is for clients that
/// read the file.
pub(super) fn snapshot_line(
    session: &AgentSession,
    entries: Option<&EntryRange>,
    has_index: bool,
) -> (Cursor, String) {
    // Read first: an entry in between is then newer than the state.
    let entry_count = session.history().with_session(|it| it.entries().len());
    let index = has_index.then(|| IndexLine::of(session)).flatten();
    let (snapshot, growing) = snapshot_with_message(session);
    let head = SnapshotHead {
        r#type: "snapshot",
        cursor: snapshot.cursor.to_string(),
        snapshot: &snapshot,
        entry_count,
        message: growing.map(|growing| AgentMessage::Assistant(growing.message().into())),
        index,
    };
    // Serializing the state cannot fail.
    let mut line = pi_protocol::json::to_string(&head).unwrap_or_default();
    let fields = entries.map(|range| {
        let history = session.history();
        history.with_session(|session| entry_range_fields(session, range))
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
