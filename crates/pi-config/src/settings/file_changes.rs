//! Changes to a settings file as JSON, for callers that know only names and values.

use std::path::Path;

use pi_fs::NewFileMode;
use serde_json::{Map, Value};

use super::migrate;
use super::store::SettingsError;
use crate::object_file::{FileEnding, LockedObject};

/// Merges values into a settings file under its lock. Objects are merged key by key; `null` removes a key.
pub fn change_settings_file(
    file: &Path,
    changes: &Map<String, Value>,
) -> Result<(), SettingsError> {
    let change = || {
        let mut locked = LockedObject::open(file, NewFileMode::Default)?;
        migrate::migrate(&mut locked.object);
        apply(&mut locked.object, changes);
        locked.write(FileEnding::None)
    };
    change().map_err(|error| SettingsError::from_change(file, error))
}

fn apply(object: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, change) in changes {
        match change {
            Value::Null => {
                object.shift_remove(key);
            }
            Value::Object(changes) => {
                let group = object.entry(key.clone()).or_insert(Value::Null);
                if !group.is_object() {
                    *group = Value::Object(Map::new());
                }
                if let Value::Object(group) = group {
                    apply(group, changes);
                }
            }
            value => {
                object.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pi_fs::{LockDir, LockTiming, atomic_file};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn change(file: &Path, changes: &Value) -> Result<(), SettingsError> {
        change_settings_file(file, changes.as_object().unwrap())
    }

    #[test]
    fn values_are_merged_and_null_removes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("agent/settings.json");
        change(
            &file,
            &json!({"theme": "dark", "retry": {"enabled": false, "maxRetries": 2}}),
        )
        .unwrap();
        change(
            &file,
            &json!({"theme": null, "retry": {"maxRetries": 3}, "added": [1]}),
        )
        .unwrap();
        let stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(
            stored,
            json!({"retry": {"enabled": false, "maxRetries": 3}, "added": [1]})
        );
    }

    #[test]
    fn a_locked_file_is_not_changed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        atomic_file::write(&file, b"{}", NewFileMode::Default).unwrap();
        let lock = LockDir::acquire(&file, LockTiming::SETTINGS).unwrap();
        let refused = change(&file, &json!({"theme": "dark"}));
        assert!(
            matches!(refused, Err(SettingsError::Locked { .. })),
            "{refused:?}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
        drop(lock);
        change(&file, &json!({"theme": "dark"})).unwrap();
    }

    #[test]
    fn a_malformed_file_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        atomic_file::write(&file, b"{ not json", NewFileMode::Default).unwrap();
        let refused = change(&file, &json!({"theme": "dark"}));
        assert!(
            matches!(refused, Err(SettingsError::Unreadable { .. })),
            "{refused:?}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "{ not json");
    }
}
