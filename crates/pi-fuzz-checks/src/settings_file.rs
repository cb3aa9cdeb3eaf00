//! Saves one setting to an arbitrary `settings.json`.

use std::fs;
use std::path::Path;

use pi_config::{AgentDir, SettingsStore};
use pi_protocol::{ConfigScope, ProjectAccess};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value};

use crate::temp_files;

/// Settings that are migrated when the file is written.
const RENAMED: [&str; 7] = [
    "queueMode",
    "steeringMode",
    "websockets",
    "transport",
    "skills",
    "enableSkillCommands",
    "retry",
];

/// Checks that saving a setting preserves everything else, and that a malformed file is not changed.
pub fn settings_file(data: &[u8]) {
    let file = temp_files::write("agent/settings.json", data);
    let dir = temp_files::dir();
    let agent = AgentDir::at(dir.join("agent"));
    let store = SettingsStore::open(&agent, &dir, ProjectAccess::Denied);
    let before = object(data);
    let saved = store.update(ConfigScope::User, |settings| {
        settings.theme = Some("another".to_owned());
    });
    assert_eq!(store.settings().theme.as_deref(), Some("another"));
    let Ok(()) = saved else {
        assert_eq!(fs::read(&file).unwrap(), data, "file changed");
        return;
    };
    let after = read(&file);
    assert_eq!(after.get("theme"), Some(&Value::from("another")));
    for (key, value) in before.unwrap_or_default() {
        if key != "theme" && !RENAMED.contains(&key.as_str()) {
            assert_eq!(after.get(&key), Some(&value), "{key}");
        }
    }
    let again = SettingsStore::open(&agent, &dir, ProjectAccess::Denied);
    assert_eq!(again.settings(), store.settings());
}

fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(bytes).ok()
}

fn read(file: &Path) -> Map<String, Value> {
    object(&fs::read(file).unwrap()).unwrap()
}
