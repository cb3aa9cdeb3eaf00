//! Merging, diffing and patching of settings as JSON objects.
//!
//! Objects are merged recursively; all other values, including lists, are replaced. Only lists of permission rules, and a
//! list that changes the default tools, add to the list below them.

use serde_json::{Map, Value};

/// A changed key: its path and new value, or `None` if it was removed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SettingEdit {
    path: Vec<String>,
    value: Option<Value>,
}

/// The list whose `+name` and `-name` entries change the list below instead of replacing it.
const DEFAULT_TOOLS: &str = "defaultTools";

/// The lists of rules that a layer can only extend.
const PERMISSIONS: &str = "permissions";
const RESTRICTIONS: [&str; 3] = ["deny", "ask", "try"];

/// Merges the settings of a layer into those of the layers below it.
pub(super) fn merge_layer(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    let below = base.get(DEFAULT_TOOLS).and_then(Value::as_array).cloned();
    let rules = base.get(PERMISSIONS).cloned();
    merge(base, over);
    if let (Some(rules), Some(Value::Object(merged))) = (rules, base.get_mut(PERMISSIONS)) {
        for effect in RESTRICTIONS {
            if over
                .get(PERMISSIONS)
                .and_then(|over| over.get(effect))
                .is_some()
            {
                prepend(merged.get_mut(effect), rules.get(effect));
            }
        }
    }
    let is_change = |entry: &Value| {
        let entry = entry.as_str();
        entry.is_some_and(|entry| entry.starts_with(['+', '-']))
    };
    if let (Some(mut entries), Some(Value::Array(changes))) = (below, over.get(DEFAULT_TOOLS))
        && changes.iter().all(is_change)
    {
        entries.extend(changes.iter().cloned());
        base.insert(DEFAULT_TOOLS.to_owned(), Value::Array(entries));
    }
}

/// Puts the elements of the list below in front of a list.
fn prepend(list: Option<&mut Value>, below: Option<&Value>) {
    if let (Some(Value::Array(list)), Some(Value::Array(below))) = (list, below) {
        list.splice(0..0, below.iter().cloned());
    }
}

/// Merges `over` into `base`.
pub(super) fn merge(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Object(base)), Value::Object(over)) => merge(base, over),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Returns the edits that turn `before` into `after`.
pub(super) fn difference(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Vec<SettingEdit> {
    let mut edits = Vec::new();
    collect(&[], before, after, &mut edits);
    edits
}

fn collect(
    path: &[&str],
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    edits: &mut Vec<SettingEdit>,
) {
    let nothing = Map::new();
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    for key in after.keys().chain(removed) {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        match (before.get(key), after.get(key)) {
            (before, after) if before == after => {}
            // Groups are edited key by key: the file may contain keys unknown to this version.
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                collect(&path, before, after, edits);
            }
            (Some(Value::Object(before)), None) => collect(&path, before, &nothing, edits),
            (None, Some(Value::Object(after))) => collect(&path, &nothing, after, edits),
            (_, value) => edits.push(SettingEdit {
                path: path.into_iter().map(str::to_owned).collect(),
                value: value.cloned(),
            }),
        }
    }
}

/// Applies edits to an object; other keys keep their value and position.
pub(super) fn apply(object: &mut Map<String, Value>, edits: &[SettingEdit]) {
    for edit in edits {
        set(object, &edit.path, edit.value.as_ref());
    }
}

/// Re-adds an element to a list that was replaced without it.
pub(super) fn restore_element(object: &mut Map<String, Value>, path: &[String], element: &Value) {
    match path
        .split_first()
        .and_then(|(key, rest)| Some((object.get_mut(key)?, rest)))
    {
        Some((Value::Object(group), rest)) => restore_element(group, rest, element),
        Some((Value::Array(list), [])) if !list.contains(element) => list.push(element.clone()),
        _ => {}
    }
}

/// Removes the edited keys, so they do not override the edits.
pub(super) fn remove_edited(object: &mut Map<String, Value>, edits: &[SettingEdit]) {
    for edit in edits {
        set(object, &edit.path, None);
    }
}

fn set(object: &mut Map<String, Value>, path: &[String], value: Option<&Value>) {
    let Some((key, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        match value {
            Some(value) => object.insert(key.clone(), value.clone()),
            None => object.shift_remove(key),
        };
        return;
    }
    match object.get_mut(key) {
        Some(Value::Object(group)) => {
            set(group, rest, value);
            if value.is_none() && group.is_empty() {
                object.shift_remove(key);
            }
        }
        Some(_) | None => {
            if value.is_some() {
                let mut group = Map::new();
                set(&mut group, rest, value);
                object.insert(key.clone(), Value::Object(group));
            }
        }
    }
}
