//! Settings as JSON objects: one over another, what changed between two, and a change applied to a
//! third.
//!
//! Objects merge key by key, at every depth; everything else, lists included, is replaced as a whole.

use serde_json::{Map, Value};

use super::Settings;

/// One key that changed: its path, and its value unless it was removed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edit {
    path: Vec<String>,
    value: Option<Value>,
}

/// Returns the object of settings: nothing for keys that are not set, no empty groups.
pub(super) fn to_object(settings: &Settings) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(mut object)) => {
            drop_unset(&mut object);
            object
        }
        Ok(_) | Err(_) => Map::new(),
    }
}

fn drop_unset(object: &mut Map<String, Value>) {
    object.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(group) => {
            drop_unset(group);
            !group.is_empty()
        }
        _ => true,
    });
}

/// Lays one object over another.
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

/// Returns what changed.
pub(super) fn difference(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Edit> {
    let mut edits = Vec::new();
    collect(&[], before, after, &mut edits);
    edits
}

fn collect(
    path: &[&str],
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    edits: &mut Vec<Edit>,
) {
    let nothing = Map::new();
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    for key in after.keys().chain(removed) {
        let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
        match (before.get(key), after.get(key)) {
            (before, after) if before == after => {}
            // A group is changed key by key: the file may hold more of it than we know.
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                collect(&path, before, after, edits);
            }
            (Some(Value::Object(before)), None) => collect(&path, before, &nothing, edits),
            (None, Some(Value::Object(after))) => collect(&path, &nothing, after, edits),
            (_, value) => edits.push(Edit {
                path: path.into_iter().map(str::to_owned).collect(),
                value: value.cloned(),
            }),
        }
    }
}

/// Makes the same changes in another object, whose other keys stay as and where they are.
pub(super) fn apply(object: &mut Map<String, Value>, edits: &[Edit]) {
    for edit in edits {
        set(object, &edit.path, edit.value.as_ref());
    }
}

/// Puts an element back into a list that was replaced without it.
pub(super) fn keep_listed(object: &mut Map<String, Value>, path: &[String], element: &Value) {
    match path
        .split_first()
        .and_then(|(key, rest)| Some((object.get_mut(key)?, rest)))
    {
        Some((Value::Object(group), rest)) => keep_listed(group, rest, element),
        Some((Value::Array(list), [])) if !list.contains(element) => list.push(element.clone()),
        _ => {}
    }
}

/// Removes what the changes are about, so that it does not hide them.
pub(super) fn forget(object: &mut Map<String, Value>, edits: &[Edit]) {
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
