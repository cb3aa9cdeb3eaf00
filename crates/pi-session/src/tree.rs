//! The entry tree of a session: leaf, branches, labels.

use std::sync::Arc;

use pi_protocol::{BranchSummaryEntry, Entry, EntryId, EntryKind, Usage};
use serde_json::Value;

use crate::error::SessionError;
use crate::index::{EntrySlot, IndexRecord, Parent};
use crate::session::Session;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
/// The entries of a session as a tree.
///
/// Nodes are in file order and refer to each other by position, so that a conversation of any
/// length can be traversed and dropped without recursion.
pub struct SessionTree {
    pub nodes: Vec<TreeNode>,
    /// Positions of entries without a parent in the file.
    pub roots: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    pub id: EntryId,
    pub kind: EntryKind,
    /// When it was appended, in milliseconds since the epoch; 0 if unknown.
    pub timestamp_ms: i64,
    /// Position of the parent.
    pub parent: Option<usize>,
    /// Positions of the children, oldest first.
    pub children: Vec<usize>,
    pub label: Option<NodeLabel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    pub text: String,
    /// When it was set, as ISO 8601.
    pub timestamp: String,
}

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
    /// Returns the ID of the leaf; `None` before the first entry.
    pub fn leaf_id(&self) -> Option<&EntryId> {
        let record = self.index.record(self.leaf?)?;
        Some(&record.id)
    }

    pub fn leaf(&self) -> Result<Option<Arc<Entry>>, SessionError> {
        self.leaf.map(|slot| self.entry_at(slot)).transpose()
    }

    /// Moves the leaf to an entry; the next append starts a branch there.
    pub fn branch(&mut self, id: &EntryId) -> Result<(), SessionError> {
        self.leaf = Some(self.slot(id.as_str())?);
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
        let target = target.map(|id| self.slot(id.as_str())).transpose()?;
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

    /// Returns the IDs from the root to the leaf.
    pub fn branch_ids(&self) -> Vec<EntryId> {
        self.ids(self.leaf)
    }

    /// Returns the IDs from the root to an entry.
    pub fn path_ids(&self, to: &EntryId) -> Result<Vec<EntryId>, SessionError> {
        Ok(self.ids(Some(self.slot(to.as_str())?)))
    }

    /// Reads the entries from the root to the leaf.
    pub fn branch_entries(&self) -> Result<Vec<Arc<Entry>>, SessionError> {
        let slots = self.path_slots(self.leaf);
        slots.into_iter().map(|slot| self.entry_at(slot)).collect()
    }

    /// Reads the entries from the root to an entry.
    pub fn path_entries(&self, to: &EntryId) -> Result<Vec<Arc<Entry>>, SessionError> {
        let slots = self.path_slots(Some(self.slot(to.as_str())?));
        slots.into_iter().map(|slot| self.entry_at(slot)).collect()
    }

    pub fn parent_id(&self, id: &EntryId) -> Result<Option<&EntryId>, SessionError> {
        let record = self.record(self.slot(id.as_str())?)?;
        let parent = record.parent.slot();
        Ok(parent.and_then(|slot| Some(&self.index.record(slot)?.id)))
    }

    /// Returns the children of an entry in file order; `None` returns the roots.
    pub fn children(&self, of: Option<&EntryId>) -> Result<Vec<EntryId>, SessionError> {
        let parent = match of {
            None => Parent::Root,
            Some(id) => Parent::Entry(self.slot(id.as_str())?),
        };
        let records = self.index.records().iter();
        let children = records.filter(|record| record.parent == parent);
        Ok(children.map(|record| record.id.clone()).collect())
    }

    pub fn label(&self, id: &EntryId) -> Option<&str> {
        Some(self.index.label(id.as_str())?.text.as_str())
    }

    /// Returns the tree of all entries without reading their bodies.
    pub fn tree(&self) -> SessionTree {
        let records = self.index.records();
        let mut nodes: Vec<TreeNode> = records.iter().map(|record| self.node(record)).collect();
        let mut roots = Vec::new();
        for position in 0..nodes.len() {
            let parent = nodes.get(position).and_then(|node| node.parent);
            match parent.and_then(|parent| nodes.get_mut(parent)) {
                Some(parent) => parent.children.push(position),
                None => roots.push(position),
            }
        }
        for node in &mut nodes {
            // The sort is stable: entries with equal timestamps stay in file order.
            node.children
                .sort_by_key(|child| records.get(*child).map_or(0, |record| record.timestamp_ms));
        }
        SessionTree { nodes, roots }
    }

    fn node(&self, record: &IndexRecord) -> TreeNode {
        TreeNode {
            id: record.id.clone(),
            kind: record.kind,
            timestamp_ms: record.timestamp_ms,
            parent: record.parent.slot().map(|slot| slot as usize),
            children: Vec::new(),
            label: self.index.label(record.id.as_str()).map(|label| NodeLabel {
                text: label.text.clone(),
                timestamp: label.timestamp.clone(),
            }),
        }
    }

    pub(crate) fn is_on_branch(&self, slot: EntrySlot) -> bool {
        self.leaf
            .is_some_and(|leaf| self.index.path(leaf).any(|on_path| on_path == slot))
    }

    /// Returns the slots from the root to `slot`.
    pub(crate) fn path_slots(&self, slot: Option<EntrySlot>) -> Vec<EntrySlot> {
        let mut slots: Vec<EntrySlot> = slot
            .into_iter()
            .flat_map(|slot| self.index.path(slot))
            .collect();
        slots.reverse();
        slots
    }

    fn ids(&self, slot: Option<EntrySlot>) -> Vec<EntryId> {
        self.path_slots(slot)
            .into_iter()
            .filter_map(|slot| Some(self.index.record(slot)?.id.clone()))
            .collect()
    }
}
