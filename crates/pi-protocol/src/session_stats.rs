//! What a session has used so far.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::snapshot::ContextUsage;

/// Usage of a session, in the format of RPC's `get_session_stats`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// The session file; it may not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of all roles.
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// Cost in US dollars.
    pub cost: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// Share of the last request's prompt that came from the cache, in percent. For display only;
    /// not sent to RPC clients.
    #[serde(skip)]
    pub cache_hit_share: Option<f64>,
}

/// Tokens by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}
