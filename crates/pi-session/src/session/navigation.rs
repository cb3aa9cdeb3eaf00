//! Moving the leaf of a session in its tree.

use std::sync::Arc;

use pi_protocol::{BranchSummaryEntry, Entry, EntryId, Usage};
use serde_json::Value;

use super::Session;
use crate::error::SessionError;

/// The summary of a branch that is being abandoned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BranchSummary {
    pub summary: String,
    /// Data from the author of the summary.
    pub details: Option<Value>,
    /// Tokens spent on the summary.
    pub usage: Option<Usage>,
    /// Whether an extension wrote the summary.
    pub from_hook: Option<bool>,
}

impl Session {
    /// Moves the leaf to an entry; the next append starts a branch there.
    pub fn branch(&mut self, id: &EntryId) -> Result<(), SessionError> {
        self.leaf = Some(self.entries.slot(id.as_str())?);
        Ok(())
    }

    /// Moves the leaf before all entries; the next append creates a new root.
    pub fn reset_leaf(&mut self) {
        self.leaf = None;
    }

    /// Moves the leaf and appends a summary of the abandoned branch. A `target` of `None` moves the
    /// leaf before all entries. If the summary cannot be stored, the leaf does not move.
    pub fn branch_with_summary(
        &mut self,
        target: Option<&EntryId>,
        summary: BranchSummary,
    ) -> Result<Arc<Entry>, SessionError> {
        let target = target
            .map(|id| self.entries.slot(id.as_str()))
            .transpose()?;
        let from_id = self
            .leaf_id()
            .cloned()
            .unwrap_or_else(|| EntryId::from(BranchSummaryEntry::FROM_ROOT));
        let before = std::mem::replace(&mut self.leaf, target);
        self.append(BranchSummaryEntry {
            from_id,
            summary: summary.summary,
            details: summary.details,
            usage: summary.usage,
            from_hook: summary.from_hook,
        })
        .inspect_err(|_| self.leaf = before)
    }
}
