//! What a session has used so far.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::snapshot::ContextUsage;

/// Usage of a session, in the format of RPC's `get_session_stats`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// The session file; it may not exist yet.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::lossy_path::optional"
    )]
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn statistics_round_trip_byte_for_byte() {
        for line in [
            r#"{"sessionId":"s","userMessages":0,"assistantMessages":0,"toolCalls":0,"toolResults":0,"totalMessages":0,"tokens":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0},"cost":0}"#,
            r#"{"sessionFile":"/s.jsonl","sessionId":"s","userMessages":1,"assistantMessages":2,"toolCalls":3,"toolResults":3,"totalMessages":6,"tokens":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"total":10},"cost":0.25,"contextUsage":{"tokens":10,"contextWindow":100,"percent":10}}"#,
        ] {
            let stats: SessionStats = serde_json::from_str(line).unwrap();
            assert_eq!(crate::json::to_string(&stats).unwrap(), line);
        }
    }
}
