//! Read access to the entries of a session.

use std::sync::Arc;

use pi_protocol::{Entry, EntryId, EntryKind};

/// The entries of a session, read one at a time. Reading may access the disk.
pub(crate) trait SessionHistory: Send + Sync {
    /// Returns the entries of the current branch, from the root to the leaf.
    fn branch(&self) -> Vec<EntryId>;

    fn kind(&self, id: &EntryId) -> Option<EntryKind>;

    /// Returns `None` for an unreadable entry, which the session reports.
    fn entry(&self, id: &EntryId) -> Option<Arc<Entry>>;
}
