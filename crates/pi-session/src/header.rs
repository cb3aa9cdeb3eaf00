//! The first line of a session file.
//!
//! The header names the session and the directory it belongs to; it is no part of the tree.

use pi_ai::json::JsonObject;
use serde::{Deserialize, Serialize};

/// The version of session files this crate writes; older ones are brought up to it on open.
pub const CURRENT_VERSION: u64 = 3;

/// The first line of a session file.
///
/// Only `id` is required of a file somebody else wrote; everything missing reads as empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    #[serde(rename = "type")]
    tag: HeaderTag,
    /// The format version; the first format did not write one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The session's id, unique among all sessions.
    pub id: String,
    /// When the session began, as ISO 8601 in UTC.
    #[serde(default)]
    pub timestamp: String,
    /// The directory the session works in.
    #[serde(default)]
    pub cwd: String,
    /// The session file this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// The type that makes a line a header.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum HeaderTag {
    Session,
}

impl SessionHeader {
    /// Creates a header of the current version.
    pub fn new(
        id: impl Into<String>,
        timestamp: impl Into<String>,
        cwd: impl Into<String>,
    ) -> Self {
        Self {
            tag: HeaderTag::Session,
            version: Some(CURRENT_VERSION),
            id: id.into(),
            timestamp: timestamp.into(),
            cwd: cwd.into(),
            parent_session: None,
            extra: JsonObject::new(),
        }
    }

    /// Returns the format version, which is 1 where none is written.
    pub fn format_version(&self) -> u64 {
        self.version.unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_header_keeps_its_order_and_unknown_fields() {
        for line in [
            r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}"#,
            r#"{"type":"session","version":3,"id":"a","timestamp":"t","cwd":"/x","parentSession":"/p.jsonl","more":[1,{"a":null}]}"#,
            r#"{"type":"session","id":"old","timestamp":"t","cwd":"/x"}"#,
        ] {
            let header: SessionHeader = serde_json::from_str(line).unwrap();
            assert_eq!(pi_ai::json::to_string(&header).unwrap(), line);
        }
    }

    #[test]
    fn a_header_needs_its_type_and_a_string_id() {
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
