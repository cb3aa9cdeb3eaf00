//! Finds entries by ID. The table stores slots only and compares IDs through the records, since a
//! long session has a million of them.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

use super::{EntrySlot, IndexRecord};

#[derive(Debug, Default)]
pub(super) struct SlotsById {
    slots: HashTable<EntrySlot>,
    /// Seeded per process: the IDs come from a file and must not be able to choose their buckets.
    hasher: RandomState,
}

impl SlotsById {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self {
            slots: HashTable::with_capacity(count),
            hasher: RandomState::new(),
        }
    }

    /// Returns the last entry that was inserted with this ID.
    pub(super) fn find(&self, id: &str, records: &[IndexRecord]) -> Option<EntrySlot> {
        let hash = self.hasher.hash_one(id);
        let found = self.slots.find(hash, |slot| id_at(records, *slot) == id);
        found.copied()
    }

    /// Adds an entry whose record is already stored.
    pub(super) fn insert(&mut self, slot: EntrySlot, records: &[IndexRecord]) {
        let Self { slots, hasher } = self;
        let id = id_at(records, slot);
        let entry = slots.entry(
            hasher.hash_one(id),
            |other| id_at(records, *other) == id,
            |other| hasher.hash_one(id_at(records, *other)),
        );
        entry.insert(slot);
    }
}

fn id_at(records: &[IndexRecord], slot: EntrySlot) -> &str {
    let record = records.get(slot as usize);
    record.map_or("", |record| record.id.as_str())
}
