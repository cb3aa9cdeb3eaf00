//! The session header, the first line of a session file. It identifies the session and its working
//! directory and is not part of the tree.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::json::JsonObject;

/// The first line of a session file. Only `id` is required when reading; other missing fields read
/// as empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    #[serde(rename = "type")]
    tag: HeaderTag,
    /// Format version; version 1 files have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Unique among all sessions.
    pub id: String,
    /// Creation time, as ISO 8601 in UTC.
    pub timestamp: String,
    /// Working directory.
    pub cwd: String,
    /// The session file this one was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// The `type` of a header line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
enum HeaderTag {
    Session,
}

impl SessionHeader {
    /// The format version that pi writes. Older files are migrated when they are opened.
    pub const CURRENT_VERSION: u64 = 3;

    /// Creates a header of the current version.
    pub fn new(
        id: impl Into<String>,
        timestamp: impl Into<String>,
        cwd: impl Into<String>,
    ) -> Self {
        Self {
            tag: HeaderTag::Session,
            version: Some(Self::CURRENT_VERSION),
            id: id.into(),
            timestamp: timestamp.into(),
            cwd: cwd.into(),
            parent_session: None,
            extra: JsonObject::new(),
        }
    }

    /// Returns the format version; 1 if the header has none.
    pub fn format_version(&self) -> u64 {
        self.version.unwrap_or(1)
    }
}

/// A field of an unexpected type reads as absent and is kept in `extra`.
impl<'de> Deserialize<'de> for SessionHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = JsonObject::deserialize(deserializer)?;
        let mut text = |name: &str| match fields.get_mut(name) {
            Some(Value::String(text)) => {
                let text = std::mem::take(text);
                fields.shift_remove(name);
                Some(text)
            }
            _ => None,
        };
        if text("type").as_deref() != Some("session") {
            return Err(serde::de::Error::custom(
                "expected a header of type `session`",
            ));
        }
        let id = text("id").ok_or_else(|| serde::de::Error::custom("header without an `id`"))?;
        let timestamp = text("timestamp").unwrap_or_default();
        let cwd = text("cwd").unwrap_or_default();
        let parent_session = text("parentSession");
        let version = fields.get("version").and_then(Value::as_u64);
        if version.is_some() {
            fields.shift_remove("version");
        }
        Ok(Self {
            tag: HeaderTag::Session,
            version,
            id,
            timestamp,
            cwd,
            parent_session,
            extra: fields,
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_header_keeps_field_order_and_unknown_fields() {
        for line in [
            r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}"#,
            r#"{"type":"session","version":3,"id":"a","timestamp":"t","cwd":"/x","parentSession":"/p.jsonl","more":[1,{"a":null}]}"#,
            r#"{"type":"session","id":"old","timestamp":"t","cwd":"/x"}"#,
        ] {
            let header: SessionHeader = serde_json::from_str(line).unwrap();
            assert_eq!(crate::json::to_string(&header).unwrap(), line);
        }
    }

    #[test]
    fn fields_of_unexpected_types_read_as_absent() {
        let line = r#"{"type":"session","id":"a","cwd":7,"version":"x"}"#;
        let header: SessionHeader = serde_json::from_str(line).unwrap();
        assert_eq!((header.format_version(), header.cwd.as_str()), (1, ""));
    }

    #[test]
    fn a_header_requires_a_type_and_a_string_id() {
        for line in [
            r#"{"type":"message","id":"a"}"#,
            r#"{"id":"a"}"#,
            r#"{"type":"session"}"#,
            r#"{"type":"session","id":7}"#,
        ] {
            assert!(
                serde_json::from_str::<SessionHeader>(line).is_err(),
                "{line}"
            );
        }
    }
}
