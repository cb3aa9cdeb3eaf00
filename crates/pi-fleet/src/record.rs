//! Records of a run's log, version 1. Readers skip an unknown `kind` and refuse a newer version.

use pi_protocol::SessionUsage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run_result::RunResult;

pub(crate) const VERSION: u64 = 1;

/// A record and the epoch of the worker that wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    pub v: u64,
    pub epoch: u64,
    #[serde(flatten)]
    pub record: RunRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum RunRecord {
    /// A worker owns the run from here on.
    Claim {
        worker: String,
        attempt: u32,
        /// Whether the request of the previous worker has no response.
        cut: bool,
        /// That of `pi-fleet`.
        version: String,
        /// That of the pi program.
        #[serde(default)]
        pi: String,
    },
    /// The session file is complete up to `length`.
    Bytes {
        length: u64,
        /// The calls that start after this record.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<SessionUsage>,
        /// What budgets have counted for the run, in US dollars: its cost, and what is reserved for the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted: Option<f64>,
    },
    /// The workspace is stored as a Git tree.
    Tree { base: String, tree: String },
    /// Control messages up to this number were delivered.
    Control { delivered: u64 },
    /// The worker returns the run to the queue.
    Release {
        /// As in `Bytes`.
        counted: f64,
    },
    /// The run is over.
    End { result: Box<RunResult> },
    /// The run starts again: with a new session, or with another prompt in its session.
    Reopen {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Control messages up to this number are over.
        #[serde(default)]
        delivered: u64,
    },
}

/// A line that is not a record of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("the log was written by a newer version ({0})")]
    Newer(u64),
    #[error("invalid record: {0}")]
    Invalid(String),
}

impl LogEntry {
    pub(crate) fn new(epoch: u64, record: RunRecord) -> Self {
        Self {
            v: VERSION,
            epoch,
            record,
        }
    }

    /// Parses a line; `None` if its kind is unknown.
    pub(crate) fn parse(line: &str) -> Result<Option<Self>, RecordError> {
        const KINDS: [&str; 7] = [
            "claim", "bytes", "tree", "control", "release", "end", "reopen",
        ];
        let invalid = |error: serde_json::Error| RecordError::Invalid(error.to_string());
        let value: Value = serde_json::from_str(line).map_err(invalid)?;
        let version = value.get("v").and_then(Value::as_u64).unwrap_or_default();
        if version > VERSION {
            return Err(RecordError::Newer(version));
        }
        let kind = value.get("kind").and_then(Value::as_str);
        if !kind.is_some_and(|kind| KINDS.contains(&kind)) {
            return Ok(None);
        }
        serde_json::from_value(value).map(Some).map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn records_have_one_line_each() {
        let entry = LogEntry::new(
            3,
            RunRecord::Bytes {
                length: 18231,
                calls: vec!["call_7".to_owned()],
                usage: None,
                counted: None,
            },
        );
        let line = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            line,
            r#"{"v":1,"epoch":3,"kind":"bytes","length":18231,"calls":["call_7"]}"#
        );
        assert_eq!(LogEntry::parse(&line), Ok(Some(entry)));
    }

    #[test]
    fn unknown_kinds_are_skipped_and_newer_versions_refused() {
        let unknown = r#"{"v":1,"epoch":1,"kind":"note","text":"x"}"#;
        assert_eq!(LogEntry::parse(unknown), Ok(None));
        let newer = r#"{"v":2,"epoch":1,"kind":"reopen"}"#;
        assert_eq!(LogEntry::parse(newer), Err(RecordError::Newer(2)));
        assert!(LogEntry::parse("{").is_err());
    }
}
