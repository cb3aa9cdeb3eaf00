//! The values that scripts keep in the session.

use std::collections::BTreeMap;

use pi_core::ToolContext;
use pi_protocol::json::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The type of the custom entries.
const ENTRY_TYPE: &str = "codemode-store";

/// The changes of one script, as its entry stores them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct StoreChanges {
    set: JsonObject,
    delete: Vec<String>,
}

impl StoreChanges {
    /// Collects writes, each a key and a value, or a key to remove.
    pub(crate) fn of(writes: Vec<StoreWrite>) -> Self {
        let mut changes = Self::default();
        for write in writes {
            match write {
                StoreWrite::Set(key, value) => drop(changes.set.insert(key, value)),
                StoreWrite::Delete((key,)) => changes.delete.push(key),
            }
        }
        changes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.delete.is_empty()
    }
}

/// A write of a script: `[key, value]` or `[key]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoreWrite {
    Set(String, Value),
    Delete((String,)),
}

/// Returns the values on the current branch, as JSON by key.
pub(crate) fn read_store(cx: &ToolContext) -> BTreeMap<String, String> {
    applied(cx.session.custom_entries(ENTRY_TYPE))
}

fn applied(entries: Vec<Value>) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for entry in entries {
        // Entries of other programs are ignored.
        let Ok(changes) = pi_protocol::json::from_value::<StoreChanges>(&entry) else {
            continue;
        };
        for key in &changes.delete {
            values.remove(key);
        }
        let set = changes.set.into_iter();
        values.extend(set.map(|(key, value)| (key, value.to_string())));
    }
    values
}

/// Stores the changes of a script that has succeeded; returns why it cannot.
pub(crate) async fn write_store(cx: &ToolContext, changes: &StoreChanges) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    let data = serde_json::to_value(changes).map_err(|error| error.to_string())?;
    let appended = cx.session.append_custom_entry(ENTRY_TYPE, data).await;
    appended.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn later_entries_win_and_broken_ones_are_ignored() {
        let values = applied(vec![
            json!({"set": {"a": 1, "b": [2]}, "delete": []}),
            json!({"set": 5}),
            json!(null),
            json!({"set": {"a": "x"}, "delete": ["b", "missing"]}),
        ]);
        assert_eq!(
            values,
            BTreeMap::from([("a".to_owned(), "\"x\"".to_owned())])
        );
    }

    #[test]
    fn writes_become_an_entry() {
        let writes: Vec<StoreWrite> =
            serde_json::from_value(json!([["k", null], ["gone"]])).unwrap();
        let changes = StoreChanges::of(writes);
        assert_eq!(
            serde_json::to_value(&changes).unwrap(),
            json!({"set": {"k": null}, "delete": ["gone"]})
        );
        assert!(StoreChanges::of(Vec::new()).is_empty());
    }
}
