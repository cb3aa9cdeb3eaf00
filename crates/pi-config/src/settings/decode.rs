//! From a file's object to [`Settings`]: what has the wrong type is left out and reported.

use serde::de::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::Settings;

/// A part of a file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    /// The key, with dots, such as `compaction.enabled`.
    pub(super) key: String,
    /// What is wrong with it.
    pub(super) problem: String,
}

/// What a file says, as far as it can be used.
#[derive(Debug, Clone, Default)]
pub(super) struct Decoded {
    /// The usable keys, unknown ones included.
    pub(super) object: Map<String, Value>,
    /// The same, typed.
    pub(super) settings: Settings,
    /// The rest.
    pub(super) rejected: Vec<Rejected>,
}

/// Reads a group; `null` is an empty one.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads settings.
pub(super) fn decode(object: Map<String, Value>) -> Decoded {
    let whole = Value::Object(object);
    let (object, rejected) = match (Settings::deserialize(&whole), whole) {
        (Ok(settings), Value::Object(object)) => {
            return Decoded {
                object,
                settings,
                rejected: Vec::new(),
            };
        }
        (_, whole) => {
            let mut sieve = Sieve::default();
            match sieve.sift(&[], &whole) {
                Some(Value::Object(object)) => (object, sieve.rejected),
                _ => (Map::new(), sieve.rejected),
            }
        }
    };
    let settings = typed(&object);
    Decoded {
        object,
        settings,
        rejected,
    }
}

/// Reads settings that are known to be well-formed.
pub(super) fn typed(object: &Map<String, Value>) -> Settings {
    Settings::deserialize(object).unwrap_or_else(|error| {
        tracing::warn!(%error, "settings were well-formed one by one, but not together");
        Settings::default()
    })
}

/// Keeps the parts of a value that [`Settings`] accepts at their place.
#[derive(Default)]
struct Sieve {
    rejected: Vec<Rejected>,
}

impl Sieve {
    fn sift(&mut self, path: &[&str], value: &Value) -> Option<Value> {
        let error = match accepts(path, value) {
            Ok(()) => return Some(value.clone()),
            Err(error) => error,
        };
        match value {
            // A group in its place: some of its keys are wrong.
            Value::Object(group) if accepts(path, &Value::Object(Map::new())).is_ok() => {
                let mut kept = Map::new();
                for (key, value) in group {
                    let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                    if let Some(value) = self.sift(&path, value) {
                        kept.insert(key.clone(), value);
                    }
                }
                Some(Value::Object(kept))
            }
            // A list in its place: some of its elements are wrong.
            Value::Array(list) if accepts(path, &Value::Array(Vec::new())).is_ok() => {
                let mut kept = Vec::new();
                for (index, element) in list.iter().enumerate() {
                    match accepts(path, &Value::Array(vec![element.clone()])) {
                        Ok(()) => kept.push(element.clone()),
                        Err(error) => self.reject(format!("{}[{index}]", path.join(".")), &error),
                    }
                }
                Some(Value::Array(kept))
            }
            _ => {
                self.reject(path.join("."), &error);
                None
            }
        }
    }

    fn reject(&mut self, key: String, error: &serde_json::Error) {
        self.rejected.push(Rejected {
            key,
            problem: error.to_string(),
        });
    }
}

/// Tells whether settings that hold nothing but this value at this path are well-formed.
fn accepts(path: &[&str], value: &Value) -> Result<(), serde_json::Error> {
    let mut whole = value.clone();
    for key in path.iter().rev() {
        whole = Value::Object(Map::from_iter([((*key).to_owned(), whole)]));
    }
    Settings::deserialize(whole).map(drop)
}
