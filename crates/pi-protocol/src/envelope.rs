//! Events with their position in the log of a session.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::session_event::SessionEvent;

/// An event and its position in the session's log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    pub session: SessionId,
    /// 1 for the first event after the session was opened.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    pub event: SessionEvent,
}

/// A position in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cursor {
    /// Identifies the log: a session that was closed and opened again starts a new one.
    pub epoch: u64,
    /// The last event that was seen; 0 before the first.
    pub seq: u64,
}
