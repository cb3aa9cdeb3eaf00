//! Entry points of a package, from its `package.json`.

use std::path::Path;

use serde_json::{Map, Value};

/// The fields of a `package.json` that resolution reads.
#[derive(Debug, Clone, Default)]
pub(super) struct PackageJson {
    pub(super) name: Option<String>,
    pub(super) is_module: bool,
    pub(super) main: Option<String>,
    pub(super) module: Option<String>,
    exports: Option<Value>,
    imports: Option<Map<String, Value>>,
}

impl PackageJson {
    /// Reads a manifest. Returns `None` if it does not exist or is not a JSON object.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let Value::Object(mut fields) = serde_json::from_str(&text).ok()? else {
            return None;
        };
        let mut text_field = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(Self {
            name: text_field("name"),
            is_module: text_field("type").as_deref() == Some("module"),
            main: text_field("main"),
            module: text_field("module"),
            exports: fields
                .remove("exports")
                .filter(|exports| !exports.is_null()),
            imports: match fields.remove("imports") {
                Some(Value::Object(imports)) => Some(imports),
                _ => None,
            },
        })
    }

    pub(super) fn has_exports(&self) -> bool {
        self.exports.is_some()
    }

    /// Returns the `exports` target of a subpath (`.` or `./…`).
    pub(super) fn export_target(&self, subpath: &str, conditions: &[&str]) -> Option<String> {
        match self.exports.as_ref()? {
            Value::Object(map) if map.keys().any(|key| key.starts_with('.')) => {
                find(map, subpath, conditions)
            }
            sugar if subpath == "." => pick(sugar, None, conditions),
            _ => None,
        }
    }

    /// Returns the `imports` target of a `#name`.
    pub(super) fn import_target(&self, specifier: &str, conditions: &[&str]) -> Option<String> {
        find(self.imports.as_ref()?, specifier, conditions)
    }
}

/// Finds an exact key, or the pattern with the longest prefix before its `*`.
fn find(map: &Map<String, Value>, key: &str, conditions: &[&str]) -> Option<String> {
    if let Some(target) = map.get(key).filter(|_| !key.contains('*')) {
        return pick(target, None, conditions);
    }
    let (_, _, matched, target) = map
        .iter()
        .filter_map(|(pattern, target)| {
            let (before, after) = match pattern.split_once('*') {
                Some(parts) => parts,
                // A deprecated directory mapping (`"./lib/"`).
                None => (pattern.strip_suffix('/').map(|_| pattern.as_str())?, ""),
            };
            let matched = key.strip_prefix(before)?.strip_suffix(after)?;
            Some((before.len(), pattern.len(), matched, target))
        })
        .max_by_key(|(before, length, _, _)| (*before, *length))?;
    pick(target, Some(matched), conditions)
}

fn pick(target: &Value, matched: Option<&str>, conditions: &[&str]) -> Option<String> {
    match target {
        Value::String(path) => Some(match matched {
            Some(matched) if path.contains('*') => path.replace('*', matched),
            Some(matched) if path.ends_with('/') => format!("{path}{matched}"),
            _ => path.clone(),
        }),
        Value::Array(choices) => choices
            .iter()
            .find_map(|choice| pick(choice, matched, conditions)),
        Value::Object(branches) => branches
            .iter()
            .filter(|(condition, _)| conditions.contains(&condition.as_str()))
            .find_map(|(_, branch)| pick(branch, matched, conditions)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
