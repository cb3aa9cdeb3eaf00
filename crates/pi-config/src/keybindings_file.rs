//! `keybindings.json`: the user's key bindings.
//!
//! The terminal application defines the actions and key names; known actions are passed in as an argument.

mod legacy;

pub(crate) use legacy::rename_legacy;

use std::collections::BTreeMap;
use std::path::Path;

use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use serde_json::Value;

use crate::object_file;

/// A key that the user bound to several actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeybindingConflict {
    pub key: String,
    /// In file order.
    pub actions: Vec<String>,
}

/// The contents of `keybindings.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserKeybindings {
    /// Keys by action; they replace the action's defaults. An empty list disables the action.
    pub keys: BTreeMap<String, Vec<String>>,
    pub conflicts: Vec<KeybindingConflict>,
    pub diagnostics: Vec<ConfigDiagnostic>,
}

/// Reads the user's key bindings. Legacy action names are accepted; a file that cannot be read
/// is treated as empty.
pub fn read_keybindings(file: &Path, known_actions: &[&str]) -> UserKeybindings {
    let mut object = match object_file::read(file) {
        Ok(Some(object)) => object,
        Ok(None) => return UserKeybindings::default(),
        Err(problem) => {
            return UserKeybindings {
                diagnostics: vec![ConfigDiagnostic::warning(
                    format!("cannot read keybindings: {}: {problem}", file.display()),
                    file,
                )],
                ..UserKeybindings::default()
            };
        }
    };
    rename_legacy(&mut object);
    let mut read = UserKeybindings::default();
    let mut bindings: Vec<(String, String)> = Vec::new();
    for (action, value) in object {
        if action == "$schema" {
            continue;
        }
        let Some(keys) = keys_of(&value) else {
            read.report(
                file,
                DiagnosticLevel::Warning,
                &format!("ignoring `{action}`: expected a key or a list of keys"),
            );
            continue;
        };
        if !known_actions.contains(&action.as_str()) {
            // Possibly an action of another version, so not a warning.
            read.report(
                file,
                DiagnosticLevel::Info,
                &format!("unknown action `{action}`"),
            );
            continue;
        }
        bindings.extend(keys.iter().map(|key| (key.clone(), action.clone())));
        read.keys.insert(action, keys);
    }
    read.conflicts = find_conflicts(bindings);
    for conflict in read.conflicts.clone() {
        let actions = conflict.actions.join(", ");
        read.report(
            file,
            DiagnosticLevel::Warning,
            &format!("{} is bound to several actions: {actions}", conflict.key),
        );
    }
    read
}

impl UserKeybindings {
    fn report(&mut self, file: &Path, level: DiagnosticLevel, problem: &str) {
        self.diagnostics.push(ConfigDiagnostic {
            level,
            message: format!("{}: {problem}", file.display()),
            path: Some(file.to_owned()),
        });
    }
}

/// Returns the keys of an action without duplicates and without values that are no names.
fn keys_of(value: &Value) -> Option<Vec<String>> {
    let all: Vec<&str> = match value {
        Value::String(key) => vec![key],
        Value::Array(keys) => {
            let usable: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
            if usable.is_empty() && !keys.is_empty() {
                return None;
            }
            usable
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let mut keys: Vec<String> = Vec::with_capacity(all.len());
    for key in all {
        if !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
    Some(keys)
}

fn find_conflicts(bindings: Vec<(String, String)>) -> Vec<KeybindingConflict> {
    let mut by_key: Vec<KeybindingConflict> = Vec::new();
    let mut indexes: BTreeMap<String, usize> = BTreeMap::new();
    for (key, action) in bindings {
        let index = *indexes.entry(key.to_ascii_lowercase()).or_insert_with(|| {
            by_key.push(KeybindingConflict {
                key,
                actions: Vec::new(),
            });
            by_key.len() - 1
        });
        if let Some(conflict) = by_key.get_mut(index) {
            conflict.actions.push(action);
        }
    }
    by_key.retain(|conflict| conflict.actions.len() > 1);
    by_key
}

#[cfg(test)]
mod tests;
