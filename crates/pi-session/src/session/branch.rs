//! [`SessionBranch`]: a path in the tree of a session. What models see of it is in
//! [`crate::context`].

use std::sync::Arc;

use super::entries::SessionEntries;
use crate::error::SessionError;
use crate::index::EntrySlot;
use pi_protocol::{Entry, EntryBody, EntryId, EntryKind};
use serde_json::Value;

/// The path from a root of a session to a leaf; empty before the first entry.
#[derive(Debug, Clone, Copy)]
pub struct SessionBranch<'session> {
    pub(crate) source: &'session SessionEntries,
    leaf: Option<EntrySlot>,
}

impl<'session> SessionBranch<'session> {
    pub(super) fn new(source: &'session SessionEntries, leaf: Option<EntrySlot>) -> Self {
        Self { source, leaf }
    }

    /// Returns the ID of the last entry.
    pub fn leaf_id(self) -> Option<&'session EntryId> {
        let record = self.source.index.record(self.leaf?)?;
        Some(&record.id)
    }

    /// Reads the last entry.
    pub fn leaf(self) -> Result<Option<Arc<Entry>>, SessionError> {
        self.leaf.map(|slot| self.source.entry_at(slot)).transpose()
    }

    /// Returns the IDs of all entries, root first.
    pub fn ids(self) -> Vec<EntryId> {
        let records = self.slots().into_iter();
        let records = records.filter_map(|slot| self.source.index.record(slot));
        records.map(|record| record.id.clone()).collect()
    }

    /// Reads all entries, root first.
    pub fn entries(self) -> Result<Vec<Arc<Entry>>, SessionError> {
        let slots = self.slots().into_iter();
        slots.map(|slot| self.source.entry_at(slot)).collect()
    }

    /// Returns the data of the custom entries of a type, root first. Reads no other entries.
    pub fn custom_data(self, custom_type: &str) -> Result<Vec<Value>, SessionError> {
        let mut found = Vec::new();
        for slot in self.slots() {
            let record = self.source.index.record(slot);
            if record.is_none_or(|record| record.kind != EntryKind::Custom) {
                continue;
            }
            if let EntryBody::Custom(custom) = &self.source.entry_at(slot)?.body
                && custom.custom_type == custom_type
            {
                found.extend(custom.data.clone());
            }
        }
        Ok(found)
    }

    pub(crate) fn contains(self, slot: EntrySlot) -> bool {
        self.slots_from_leaf().any(|on_path| on_path == slot)
    }

    /// Returns the slots of all entries, root first.
    pub(crate) fn slots(self) -> Vec<EntrySlot> {
        let mut slots: Vec<EntrySlot> = self.slots_from_leaf().collect();
        slots.reverse();
        slots
    }

    /// Walks from the leaf to the root.
    pub(crate) fn slots_from_leaf(self) -> impl Iterator<Item = EntrySlot> + 'session {
        let leaf = self.leaf.into_iter();
        leaf.flat_map(move |leaf| self.source.index.path(leaf))
    }
}
