//! Results of a full-text search over sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whose text matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SearchRole {
    User,
    Assistant,
    /// The result of a tool, or of a `!` command.
    Tool,
    /// A summary or a message of an extension.
    Other,
    /// The name of the session.
    Name,
}

/// An entry that contains what was searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSearchHit {
    /// The session file.
    #[serde(serialize_with = "crate::lossy_path::path")]
    pub path: PathBuf,
    pub session_id: String,
    /// The working directory of the session.
    pub cwd: String,
    /// The name of the session, otherwise the start of its first prompt.
    pub title: Option<String>,
    pub entry_id: String,
    pub role: SearchRole,
    #[serde(rename = "timestamp")]
    pub timestamp_ms: Option<i64>,
    /// Text around the first match, on one line.
    pub snippet: Vec<SnippetPart>,
}

/// A part of the text of a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnippetPart {
    pub text: String,
    /// Whether the part is what was searched.
    #[serde(rename = "match", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_match: bool,
}

/// The best hits of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSearchResults {
    /// Best first.
    pub hits: Vec<SessionSearchHit>,
    /// How many entries contain all words. For phrases, an upper limit.
    pub total: usize,
    /// How far the index is, if it is not complete yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<IndexingProgress>,
}

/// How many bytes of session files were indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexingProgress {
    pub done: u64,
    pub total: u64,
}
