//! Entries that somebody is looking at.
//!
//! An entry read from the file is shared as long as anybody holds it and forgotten afterwards, so
//! that memory follows what is looked at and not what has been.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::entry::Entry;
use crate::index::Slot;

/// Below this many places nothing is swept.
const SMALLEST_SWEEP: usize = 64;

/// The entries in use, by their slot.
#[derive(Debug, Default)]
pub(crate) struct EntryCache {
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    entries: HashMap<Slot, Weak<Entry>>,
    sweep_at: usize,
}

impl EntryCache {
    pub(crate) fn get(&self, slot: Slot) -> Option<Arc<Entry>> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entries.get(&slot)?.upgrade()
    }

    pub(crate) fn put(&self, slot: Slot, entry: &Arc<Entry>) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entries.insert(slot, Arc::downgrade(entry));
        if places.entries.len() > places.sweep_at.max(SMALLEST_SWEEP) {
            places.entries.retain(|_, entry| entry.strong_count() > 0);
            places.entries.shrink_to(SMALLEST_SWEEP);
            places.sweep_at = places.entries.len() * 2;
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places.lock().unwrap().entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{CustomEntry, EntryId};

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
            extra: pi_ai::json::JsonObject::new(),
        })
    }

    #[test]
    fn entries_are_kept_while_held_and_no_longer() {
        let cache = EntryCache::default();
        let held = entry();
        cache.put(0, &held);
        for slot in 1..10_000 {
            cache.put(slot, &entry());
        }
        assert!(Arc::ptr_eq(&cache.get(0).unwrap(), &held));
        assert!(cache.get(1).is_none());
        assert!(cache.len() <= SMALLEST_SWEEP + 1, "{}", cache.len());
    }
}
