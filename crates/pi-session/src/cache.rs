//! Cache of entries in use. An entry read from the file is shared while it is referenced and
//! dropped afterwards, so memory use follows what is in use, not what has been read.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use pi_protocol::Entry;

use crate::index::EntrySlot;

/// Below this size, dead references are not removed.
const MIN_SWEEP_SIZE: usize = 64;

/// Entries in use, by slot.
#[derive(Debug, Default)]
pub(crate) struct EntryCache {
    cached: Mutex<CachedEntries>,
}

#[derive(Debug, Default)]
struct CachedEntries {
    entries: HashMap<EntrySlot, Weak<Entry>>,
    sweep_at: usize,
}

impl EntryCache {
    pub(crate) fn get(&self, slot: EntrySlot) -> Option<Arc<Entry>> {
        let cached = self.cached.lock();
        cached.entries.get(&slot)?.upgrade()
    }

    pub(crate) fn put(&self, slot: EntrySlot, entry: &Arc<Entry>) {
        let mut cached = self.cached.lock();
        cached.entries.insert(slot, Arc::downgrade(entry));
        if cached.entries.len() > cached.sweep_at.max(MIN_SWEEP_SIZE) {
            cached.entries.retain(|_, entry| entry.strong_count() > 0);
            cached.entries.shrink_to(MIN_SWEEP_SIZE);
            cached.sweep_at = cached.entries.len() * 2;
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.cached.lock().entries.len()
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::{CustomEntry, EntryId};

    use super::*;

    fn entry() -> Arc<Entry> {
        Arc::new(Entry {
            id: EntryId::from("a"),
            parent_id: None,
            timestamp: String::new(),
            body: CustomEntry {
                custom_type: "x".to_owned(),
                data: None,
            }
            .into(),
            extra: pi_protocol::json::JsonObject::new(),
        })
    }

    #[test]
    fn entries_are_cached_only_while_in_use() {
        let cache = EntryCache::default();
        let shared = entry();
        cache.put(0, &shared);
        for slot in 1..10_000 {
            cache.put(slot, &entry());
        }
        assert!(Arc::ptr_eq(&cache.get(0).unwrap(), &shared));
        assert!(cache.get(1).is_none());
        assert!(cache.len() <= MIN_SWEEP_SIZE + 1, "{}", cache.len());
    }
}
