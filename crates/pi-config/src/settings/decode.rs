//! Decodes a JSON object into [`Settings`]; values of the wrong type are dropped and reported.

use pi_protocol::settings::Settings;
use serde::de::{Deserialize as _, Error as _};
use serde_json::{Map, Value};

/// A value that was dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RejectedValue {
    /// Dotted key, such as `compaction.enabled`.
    pub(super) key: String,
    pub(super) problem: String,
    /// Set if the value is an element of a list.
    pub(super) list_element: Option<RejectedElement>,
}

/// A dropped list element, kept so it can be written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RejectedElement {
    pub(super) path: Vec<String>,
    pub(super) element: Value,
}

/// The valid part of a settings file.
#[derive(Debug, Clone, Default)]
pub(super) struct DecodedSettings {
    /// All valid keys, including unknown ones.
    pub(super) object: Map<String, Value>,
    pub(super) settings: Settings,
    pub(super) rejected: Vec<RejectedValue>,
}

/// Decodes settings, dropping invalid values.
pub(super) fn decode(object: Map<String, Value>) -> DecodedSettings {
    if let Ok(settings) = Settings::deserialize(&object) {
        return DecodedSettings {
            object,
            settings,
            rejected: Vec::new(),
        };
    }
    let mut filter = InvalidValueFilter::default();
    let object = match filter.filter(&[], &Value::Object(object)) {
        Some(Value::Object(object)) => object,
        Some(_) | None => Map::new(),
    };
    DecodedSettings {
        settings: deserialize_valid(&object),
        object,
        rejected: filter.rejected,
    }
}

/// Deserializes settings that are known to be valid.
pub(super) fn deserialize_valid(object: &Map<String, Value>) -> Settings {
    Settings::deserialize(object).unwrap_or_else(|error| {
        tracing::warn!(%error, "settings are valid one by one, but not together");
        Settings::default()
    })
}

/// Filters a JSON tree down to the values that [`Settings`] accepts.
#[derive(Default)]
struct InvalidValueFilter {
    rejected: Vec<RejectedValue>,
}

impl InvalidValueFilter {
    fn filter(&mut self, path: &[&str], value: &Value) -> Option<Value> {
        let error = match accepts(path, value) {
            Ok(()) => return Some(value.clone()),
            Err(error) => error,
        };
        match value {
            // A group is expected here: some of its keys are invalid.
            Value::Object(group) if accepts(path, &Value::Object(Map::new())).is_ok() => {
                let mut kept = Map::new();
                for (key, value) in group {
                    let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                    if let Some(value) = self.filter(&path, value) {
                        kept.insert(key.clone(), value);
                    }
                }
                Some(Value::Object(kept))
            }
            // A list is expected here: some of its elements are invalid.
            Value::Array(list) if accepts(path, &Value::Array(Vec::new())).is_ok() => {
                let mut kept = Vec::new();
                for (index, element) in list.iter().enumerate() {
                    match accepts(path, &Value::Array(vec![element.clone()])) {
                        Ok(()) => kept.push(element.clone()),
                        Err(error) => self.rejected.push(RejectedValue {
                            key: sanitize(&format!("{}[{index}]", path.join("."))),
                            problem: sanitize(&error.to_string()),
                            list_element: Some(RejectedElement {
                                path: path.iter().map(|&key| key.to_owned()).collect(),
                                element: element.clone(),
                            }),
                        }),
                    }
                }
                Some(Value::Array(kept))
            }
            _ => {
                self.rejected.push(RejectedValue {
                    key: sanitize(&path.join(".")),
                    problem: sanitize(&error.to_string()),
                    list_element: None,
                });
                None
            }
        }
    }
}

/// Makes file content safe to show in a message: truncated, with control characters escaped.
fn sanitize(text: &str) -> String {
    const MAX_CHARS: usize = 160;
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == MAX_CHARS {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Checks that settings with only this value at this path are valid.
fn accepts(path: &[&str], value: &Value) -> Result<(), serde_json::Error> {
    let mut root = value.clone();
    for key in path.iter().rev() {
        root = Value::Object(Map::from_iter([((*key).to_owned(), root)]));
    }
    // From an object, as in `decode`: for another type, all of the code would exist twice.
    match root {
        Value::Object(root) => Settings::deserialize(&root).map(drop),
        _ => Err(serde_json::Error::custom("expected an object")),
    }
}
