//! Read access to the entries of a session.

use std::sync::Arc;

use pi_protocol::{Entry, EntryId, EntryKind};
use pi_session::Session;

/// The entries of a session, read one at a time. Reading may access the disk.
pub(crate) trait SessionHistory: Send + Sync {
    /// Returns the entries of the current branch, from the root to the leaf.
    fn branch(&self) -> Vec<EntryId>;

    fn kind(&self, id: &EntryId) -> Option<EntryKind>;

    /// Returns `None` for an unreadable entry, which the session reports.
    fn entry(&self, id: &EntryId) -> Option<Arc<Entry>>;
}

impl SessionHistory for Session {
    fn branch(&self) -> Vec<EntryId> {
        self.current_branch().ids()
    }

    fn kind(&self, id: &EntryId) -> Option<EntryKind> {
        self.entries().kind(id.as_str())
    }

    fn entry(&self, id: &EntryId) -> Option<Arc<Entry>> {
        self.entries().read(id.as_str()).ok()
    }
}
