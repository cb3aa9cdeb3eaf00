//! Prompt cache misses with their causes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::EntryId;

/// A prompt that was cached and re-sent uncached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheMissReport {
    /// The response to the request.
    pub entry_id: EntryId,
    #[serde(rename = "timestamp")]
    pub timestamp_ms: i64,
    /// `provider/id`.
    pub model: String,
    /// Tokens that were re-sent uncached.
    pub tokens: u64,
    /// Extra cost compared to a cache read, in US dollars.
    pub cost: f64,
    /// What differs from the request before, in the order of the request. Empty if nothing in the session does: a hook
    /// of an extension changed the request, or the provider dropped the cache.
    pub causes: Vec<CacheMissCause>,
}

/// A difference between two requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum CacheMissCause {
    /// Each model has a separate cache.
    Model {
        from: String,
        to: String,
    },
    /// A section of the system prompt.
    Section {
        name: String,
        is_extension: bool,
    },
    /// Tools that are declared; a name in both lists was moved to the end.
    Tools {
        added: Vec<String>,
        removed: Vec<String>,
    },
    /// The session moved to another branch.
    Branch,
    /// Earlier entries were edited or omitted.
    Edits {
        count: usize,
    },
    /// The time since the request before exceeds the lifetime of the cache.
    Expired {
        idle_ms: u64,
    },
    Thinking {
        from: String,
        to: String,
    },
}

impl fmt::Display for CacheMissCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { from, to } => write!(formatter, "model changed from {from} to {to}"),
            Self::Section { name, .. } if name == "project_context" => {
                formatter.write_str("AGENTS.md or another context file changed")
            }
            Self::Section { name, is_extension } => {
                let owner = match is_extension {
                    true => "an extension",
                    false => "the system prompt",
                };
                write!(formatter, "section \"{name}\" of {owner} changed")
            }
            Self::Tools { added, removed } => write_tools(formatter, added, removed),
            Self::Branch => formatter.write_str("the session moved to another branch"),
            Self::Edits { count: 1 } => {
                formatter.write_str("1 earlier entry was edited or omitted")
            }
            Self::Edits { count } => {
                write!(formatter, "{count} earlier entries were edited or omitted")
            }
            Self::Expired { idle_ms } => write!(
                formatter,
                "the cache expired: no request for {} minutes",
                idle_ms / 60_000
            ),
            Self::Thinking { from, to } => {
                write!(formatter, "thinking level changed from {from} to {to}")
            }
        }
    }
}

fn write_tools(
    formatter: &mut fmt::Formatter<'_>,
    added: &[String],
    removed: &[String],
) -> fmt::Result {
    let only_in = |these: &[String], others: &[String]| {
        let names = these.iter().filter(|name| !others.contains(name));
        names.cloned().collect::<Vec<_>>()
    };
    let (new, gone) = (only_in(added, removed), only_in(removed, added));
    if new.is_empty() && gone.is_empty() {
        return write!(
            formatter,
            "the order of tools changed: {}",
            added.join(", ")
        );
    }
    let parts = [("added", new), ("removed", gone)];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
    write!(formatter, "tools changed: {}", parts.join(", "))
}
