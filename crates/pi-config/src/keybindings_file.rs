//! `keybindings.json`: the user's keys for actions.
//!
//! Which actions there are, and what a key's name means, is the terminal application's matter; the
//! names come in as an argument.

mod legacy;

pub(crate) use legacy::rename_legacy;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::{ConfigDiagnostic, DiagnosticLevel, object_file};

/// Two or more actions that the user gave the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeybindingConflict {
    pub key: String,
    /// The actions, in the order of the file.
    pub actions: Vec<String>,
}

/// What `keybindings.json` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserKeybindings {
    /// Each action the user set, with its keys; they replace its defaults. No keys disable it.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Keys that more than one of these actions claims.
    pub conflicts: Vec<KeybindingConflict>,
    /// What is wrong with the file.
    pub diagnostics: Vec<ConfigDiagnostic>,
}

/// Reads the user's keys. Earlier names of actions are understood; a file that cannot be read
/// counts as empty.
pub fn read_keybindings(file: &Path, known_actions: &[&str]) -> UserKeybindings {
    let mut object = match object_file::read(file) {
        Ok(Some(object)) => object,
        Ok(None) => return UserKeybindings::default(),
        Err(problem) => {
            return UserKeybindings {
                diagnostics: vec![ConfigDiagnostic::warning(
                    format!("keybindings file {} is ignored: {problem}", file.display()),
                    file,
                )],
                ..UserKeybindings::default()
            };
        }
    };
    rename_legacy(&mut object);
    let mut read = UserKeybindings::default();
    let mut claims: Vec<(String, String)> = Vec::new();
    for (action, value) in object {
        if action == "$schema" {
            continue;
        }
        let Some(keys) = keys_of(&value) else {
            read.report(
                file,
                DiagnosticLevel::Warning,
                &format!("{action} is ignored: expected a key or a list of keys"),
            );
            continue;
        };
        if !known_actions.contains(&action.as_str()) {
            // An action of another version: no reason to alarm anybody.
            read.report(
                file,
                DiagnosticLevel::Info,
                &format!("{action} is not an action of this version"),
            );
            continue;
        }
        claims.extend(keys.iter().map(|key| (key.clone(), action.clone())));
        read.keys.insert(action, keys);
    }
    read.conflicts = conflicts_of(claims);
    for conflict in read.conflicts.clone() {
        let actions = conflict.actions.join(", ");
        read.report(
            file,
            DiagnosticLevel::Warning,
            &format!("{} is set for several actions: {actions}", conflict.key),
        );
    }
    read
}

impl UserKeybindings {
    fn report(&mut self, file: &Path, level: DiagnosticLevel, problem: &str) {
        self.diagnostics.push(ConfigDiagnostic {
            level,
            message: format!("keybindings file {}: {problem}", file.display()),
            path: Some(file.to_owned()),
        });
    }
}

/// Returns the keys of an action, each once.
fn keys_of(value: &Value) -> Option<Vec<String>> {
    let listed: Vec<&str> = match value {
        Value::String(key) => vec![key],
        Value::Array(keys) => keys.iter().map(Value::as_str).collect::<Option<_>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let mut keys: Vec<String> = Vec::with_capacity(listed.len());
    for key in listed {
        if !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
    Some(keys)
}

fn conflicts_of(claims: Vec<(String, String)>) -> Vec<KeybindingConflict> {
    let mut by_key: Vec<KeybindingConflict> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (key, action) in claims {
        let place = *places.entry(key.to_ascii_lowercase()).or_insert_with(|| {
            by_key.push(KeybindingConflict {
                key,
                actions: Vec::new(),
            });
            by_key.len() - 1
        });
        if let Some(conflict) = by_key.get_mut(place) {
            conflict.actions.push(action);
        }
    }
    by_key.retain(|conflict| conflict.actions.len() > 1);
    by_key
}

#[cfg(test)]
mod tests;
