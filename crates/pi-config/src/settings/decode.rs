//! From a file's object to [`Settings`]: what has the wrong type is left out and reported.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::Settings;

/// A part of a file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    /// The key, with dots, such as `compaction.enabled`.
    pub(super) key: String,
    /// What is wrong with it.
    pub(super) problem: String,
    /// Where it was in a list, if it was.
    pub(super) listed: Option<Listed>,
}

/// An element of a list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: Vec<String>,
    pub(super) element: Value,
}

/// What a file says, as far as it can be used.
#[derive(Debug, Clone, Default)]
pub(super) struct Decoded {
    /// The usable keys, unknown ones included.
    pub(super) object: Map<String, Value>,
    pub(super) settings: Settings,
    pub(super) rejected: Vec<Rejected>,
}

/// Reads a group; `null` is an empty one.
pub(super) fn group<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Group::deserialize(deserializer).map(|Group(group)| group)
}

/// Reads groups by name.
pub(super) fn groups<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    let groups: BTreeMap<String, Group<T>> = group(deserializer)?;
    let groups = groups.into_iter();
    Ok(groups.map(|(name, Group(group))| (name, group)).collect())
}

/// A struct that is an object in the file. By itself, serde would take a list of the fields' values
/// for one too.
struct Group<T>(T);

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Group<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GroupVisitor(PhantomData))
    }
}

struct GroupVisitor<T>(PhantomData<T>);

impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for GroupVisitor<T> {
    type Value = Group<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Group(T::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Group)
    }
}

/// Reads settings.
pub(super) fn decode(object: Map<String, Value>) -> Decoded {
    if let Ok(settings) = Settings::deserialize(&object) {
        return Decoded {
            object,
            settings,
            rejected: Vec::new(),
        };
    }
    let mut sieve = Sieve::default();
    let object = match sieve.sift(&[], &Value::Object(object)) {
        Some(Value::Object(object)) => object,
        Some(_) | None => Map::new(),
    };
    Decoded {
        settings: typed(&object),
        object,
        rejected: sieve.rejected,
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
                        Err(error) => self.rejected.push(Rejected {
                            key: visible(&format!("{}[{index}]", path.join("."))),
                            problem: visible(&error.to_string()),
                            listed: Some(Listed {
                                path: path.iter().map(|&key| key.to_owned()).collect(),
                                element: element.clone(),
                            }),
                        }),
                    }
                }
                Some(Value::Array(kept))
            }
            _ => {
                self.rejected.push(Rejected {
                    key: visible(&path.join(".")),
                    problem: visible(&error.to_string()),
                    listed: None,
                });
                None
            }
        }
    }
}

/// Returns a text of a file for a message: short, and without characters that act on a terminal.
fn visible(text: &str) -> String {
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

/// Returns whether settings that hold nothing but this value at this path are well-formed.
fn accepts(path: &[&str], value: &Value) -> Result<(), serde_json::Error> {
    let mut whole = value.clone();
    for key in path.iter().rev() {
        whole = Value::Object(Map::from_iter([((*key).to_owned(), whole)]));
    }
    Settings::deserialize(whole).map(drop)
}
