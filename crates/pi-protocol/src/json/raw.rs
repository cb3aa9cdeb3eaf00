//! JSON text that passes through without being parsed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value as compact text. A reply with a complete session is built, sent and written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawJson(String);

impl RawJson {
    /// Serializes a value.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        super::to_string(value).map(Self)
    }

    /// Wraps JSON text, which must be valid and have no line breaks. It is not checked here, because that would read
    /// all of it.
    pub fn from_text(json: String) -> Self {
        Self(json)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Replies are tagged, so serde has already parsed the value: there is no text left to copy.
        let value = Value::deserialize(deserializer)?;
        Ok(Self(super::value_to_string(&value)))
    }
}
