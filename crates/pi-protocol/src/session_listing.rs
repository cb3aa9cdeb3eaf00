//! Sessions in lists.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Metadata of a session as shown in lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub path: PathBuf,
    pub id: String,
    /// Working directory; empty if the header has none.
    pub cwd: String,
    pub name: Option<String>,
    /// The session file this one was forked from.
    pub parent_session: Option<String>,
    /// Creation time in milliseconds since the epoch, if the header has one.
    pub created_ms: Option<i64>,
    /// Time of the last user or assistant message; otherwise the creation time, otherwise the
    /// modification time of the file.
    pub modified_ms: i64,
    /// Number of messages on all branches.
    pub message_count: usize,
    /// Text of the first user message.
    pub first_message: Option<String>,
    /// Text of all user and assistant messages, if requested.
    pub text: String,
}

impl SessionInfo {
    /// Returns the title shown in lists: the name, or the first user message.
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.first_message.as_deref())
    }
}

/// How far a listing has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListProgress {
    /// Files read so far.
    pub loaded: usize,
    /// Total number of files.
    pub total: usize,
    /// The sessions found so far, newest first; set only when a partial list is due.
    pub sessions: Option<Vec<Arc<SessionInfo>>>,
}

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionScope {
    /// Sessions of the working directory.
    #[default]
    Project,
    All,
}
