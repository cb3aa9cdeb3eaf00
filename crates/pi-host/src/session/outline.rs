//! What identifies a session and where it is, for front ends that must not wait for the disk.

use std::path::{Path, PathBuf};

use pi_protocol::EntryId;
use pi_session::Session;

/// Facts about the stored session. They can be read while the session is being written, and follow every change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOutline {
    pub id: String,
    pub name: Option<String>,
    /// The session file; it may not exist yet. `None` for a session in memory.
    pub file: Option<PathBuf>,
    /// Whether the file exists.
    pub is_saved: bool,
    /// The entry the conversation is at.
    pub leaf: Option<EntryId>,
    pub entry_count: usize,
}

impl SessionOutline {
    pub(super) fn of(session: &Session) -> Self {
        Self {
            id: session.id().to_owned(),
            name: session.name().map(str::to_owned),
            file: session.path().map(Path::to_owned),
            is_saved: session.is_saved(),
            leaf: session.leaf_id().cloned(),
            entry_count: session.entries().len(),
        }
    }
}
