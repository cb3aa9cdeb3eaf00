//! The tree of a session: where the conversation stands, how it got there, where else it went.

use std::sync::Arc;

use pi_ai::Usage;
use serde_json::Value;

use crate::entry::{BranchSummaryEntry, Entry, EntryId};
use crate::error::SessionError;
use crate::index::{Parent, Record, Slot};
use crate::kind::EntryKind;
use crate::store::Session;

/// A session's entries as a tree.
///
/// The nodes are in the order of the file and name each other by their position in it, so that a
/// conversation of any length can be walked and dropped without recursion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTree {
    pub nodes: Vec<TreeNode>,
    /// The positions of those that follow no entry, or one that is not there.
    pub roots: Vec<usize>,
}

/// An entry's place in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    pub id: EntryId,
    pub kind: EntryKind,
    /// When it was appended, in milliseconds since the epoch; 0 if the file does not say.
    pub timestamp_ms: i64,
    /// The position of the entry it follows.
    pub parent: Option<usize>,
    /// The positions of the entries that follow it, oldest first.
    pub children: Vec<usize>,
    /// The label in force.
    pub label: Option<NodeLabel>,
}

/// A label in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    pub text: String,
    /// When it was set, as ISO 8601.
    pub timestamp: String,
}

/// The summary of a branch that is being left.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BranchSummary {
    pub summary: String,
    /// Data of whoever wrote it.
    pub details: Option<Value>,
    /// Tokens spent on it.
    pub usage: Option<Usage>,
    /// Whether an extension wrote it.
    pub from_hook: Option<bool>,
}

impl Session {
    /// Returns the entry the conversation stands at; none before the first.
    pub fn leaf_id(&self) -> Option<&EntryId> {
        let record = self.index.record(self.leaf?)?;
        Some(&record.id)
    }

    /// Reads the entry the conversation stands at.
    pub fn leaf(&self) -> Result<Option<Arc<Entry>>, SessionError> {
        self.leaf.map(|slot| self.entry_at(slot)).transpose()
    }

    /// Moves the leaf to an entry; what is appended next begins a branch there.
    pub fn branch(&mut self, id: &EntryId) -> Result<(), SessionError> {
        self.leaf = Some(self.slot(id.as_str())?);
        Ok(())
    }

    /// Moves the leaf before all entries; what is appended next becomes another root.
    pub fn reset_leaf(&mut self) {
        self.leaf = None;
    }

    /// Moves the leaf and appends a summary of the branch that is left; `None` moves before all
    /// entries. If the summary cannot be stored, the leaf stays.
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

    /// Returns the ids from the root to the leaf.
    pub fn branch_ids(&self) -> Vec<EntryId> {
        self.ids(self.leaf)
    }

    /// Returns the ids from the root to an entry.
    pub fn path_ids(&self, to: &EntryId) -> Result<Vec<EntryId>, SessionError> {
        Ok(self.ids(Some(self.slot(to.as_str())?)))
    }

    /// Reads the entries from the root to the leaf.
    pub fn branch_entries(&self) -> Result<Vec<Arc<Entry>>, SessionError> {
        let slots = self.slots_to(self.leaf);
        slots.into_iter().map(|slot| self.entry_at(slot)).collect()
    }

    /// Reads the entries from the root to an entry.
    pub fn path_entries(&self, to: &EntryId) -> Result<Vec<Arc<Entry>>, SessionError> {
        let slots = self.slots_to(Some(self.slot(to.as_str())?));
        slots.into_iter().map(|slot| self.entry_at(slot)).collect()
    }

    /// Returns the entry that another follows.
    pub fn parent_id(&self, id: &EntryId) -> Result<Option<&EntryId>, SessionError> {
        let record = self.record(self.slot(id.as_str())?)?;
        let parent = record.parent.slot();
        Ok(parent.and_then(|slot| Some(&self.index.record(slot)?.id)))
    }

    /// Returns the entries that follow another, in the order of the file; `None` asks for the roots.
    pub fn children(&self, of: Option<&EntryId>) -> Result<Vec<EntryId>, SessionError> {
        let parent = match of {
            None => Parent::Root,
            Some(id) => Parent::Entry(self.slot(id.as_str())?),
        };
        let records = self.index.records().iter();
        let children = records.filter(|record| record.parent == parent);
        Ok(children.map(|record| record.id.clone()).collect())
    }

    /// Returns the label of an entry.
    pub fn label(&self, id: &EntryId) -> Option<&str> {
        Some(self.index.label(id.as_str())?.text.as_str())
    }

    /// Lays out the whole tree without reading any entry.
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
            // The sort is stable: entries of the same moment stay in the order of the file.
            node.children
                .sort_by_key(|child| records.get(*child).map_or(0, |record| record.timestamp_ms));
        }
        SessionTree { nodes, roots }
    }

    fn node(&self, record: &Record) -> TreeNode {
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

    pub(crate) fn is_on_branch(&self, slot: Slot) -> bool {
        self.leaf
            .is_some_and(|leaf| self.index.path(leaf).any(|on_path| on_path == slot))
    }

    /// Returns the way from the root to a slot.
    pub(crate) fn slots_to(&self, slot: Option<Slot>) -> Vec<Slot> {
        let mut slots: Vec<Slot> = slot
            .into_iter()
            .flat_map(|slot| self.index.path(slot))
            .collect();
        slots.reverse();
        slots
    }

    fn ids(&self, slot: Option<Slot>) -> Vec<EntryId> {
        self.slots_to(slot)
            .into_iter()
            .filter_map(|slot| Some(self.index.record(slot)?.id.clone()))
            .collect()
    }
}
