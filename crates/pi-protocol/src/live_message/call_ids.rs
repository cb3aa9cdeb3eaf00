//! Keeps the tool-call IDs of a message distinct.

use std::collections::HashMap;

use crate::tool_call_id;

/// The IDs in use, each with the number of replacements that were made for it: the next one does
/// not try them again, because a response may repeat one ID thousands of times.
#[derive(Debug, Default)]
pub(super) struct CallIds(HashMap<String, usize>);

impl CallIds {
    /// Records an ID that was set later.
    pub(super) fn insert(&mut self, id: &str) {
        self.0.entry(id.to_owned()).or_default();
    }

    /// Returns the ID, changed if a call already has it. Calls without ID have none until the end.
    pub(super) fn make_unique(&mut self, given: String) -> String {
        if given.is_empty() {
            return given;
        }
        let Some(mut attempt) = self.0.get(&given).copied() else {
            self.insert(&given);
            return given;
        };
        let unique = loop {
            attempt += 1;
            let candidate = tool_call_id::replacement_id(&given, attempt);
            if !self.0.contains_key(&candidate) {
                break candidate;
            }
        };
        self.0.insert(given, attempt);
        self.insert(&unique);
        unique
    }
}
