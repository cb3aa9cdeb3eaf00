//! The state of a session at one position of its log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::envelope::Cursor;
use crate::id::{EntryId, SessionId};
use crate::interaction::Request;
use crate::model::Model;
use crate::queue::{Delivery, QueueId, QueueMode};
use crate::thinking::ThinkingLevel;

/// What a client needs to show a session. Events after [`Snapshot::cursor`] change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub session: SessionId,
    /// The position of the last event the snapshot includes.
    #[serde(flatten)]
    pub cursor: Cursor,
    pub status: SessionActivity,
    /// The working directory.
    pub cwd: String,
    /// The session file; it may not exist yet. Absent if the session is in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The entry the conversation is at; absent in an empty session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<EntryId>,
    /// Number of messages in the model's context.
    pub message_count: usize,
    /// Absent until a model is selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    /// Names of the tools that the model can call.
    pub tools: Vec<String>,
    /// Messages that wait for delivery, in delivery order.
    pub queue: Vec<QueuedMessage>,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// Requests that wait for an answer, oldest first.
    pub pending: Vec<Request>,
    /// Absent if the context window is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    pub auto_compaction_enabled: bool,
    /// Number of clients of other processes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observers: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionActivity {
    pub kind: ActivityKind,
    pub is_compacting: bool,
    pub is_retrying: bool,
}

/// The activity, as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ActivityKind {
    #[default]
    Idle,
    Preparing,
    Running,
    Settling,
    Compacting,
    Navigating,
}

/// A queued message, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueuedMessage {
    pub id: QueueId,
    pub delivery: Delivery,
    /// The text to show; absent for messages of extensions, which are not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Usage of the model's context window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Unknown between a compaction and the next response.
    pub tokens: Option<u64>,
    pub context_window: u64,
    pub percent: Option<f64>,
}

impl ContextUsage {
    /// Returns the usage for a context size; `None` if the context window is unknown.
    pub fn of_size(tokens: Option<u64>, context_window: u64) -> Option<Self> {
        if context_window == 0 {
            return None;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts stay far below 2^53"
        )]
        let percent = |tokens: u64| tokens as f64 / context_window as f64 * 100.0;
        Some(Self {
            tokens,
            context_window,
            percent: tokens.map(percent),
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_snapshot_round_trips_byte_for_byte() {
        let model = crate::json::to_string(&Model::unknown()).unwrap();
        for line in [
            r#"{"session":"s","epoch":1,"seq":7,"status":{"kind":"idle","isCompacting":false,"isRetrying":false},"cwd":"/w","messageCount":0,"thinkingLevel":"off","tools":[],"queue":[],"steeringMode":"all","followUpMode":"one-at-a-time","pending":[],"autoCompactionEnabled":true}"#.to_owned(),
            format!(
                r#"{{"session":"s","epoch":1,"seq":7,"status":{{"kind":"running","isCompacting":false,"isRetrying":true}},"cwd":"/w","sessionFile":"/s.jsonl","name":"n","leafId":"e","messageCount":3,"model":{model},"thinkingLevel":"high","tools":["read"],"queue":[{{"id":4,"delivery":"followUp","text":"t"}},{{"id":5,"delivery":"steer"}}],"steeringMode":"all","followUpMode":"all","pending":[{{"id":"1","method":"confirm","title":"t","message":"m"}}],"contextUsage":{{"tokens":null,"contextWindow":200,"percent":null}},"autoCompactionEnabled":false,"observers":2}}"#
            ),
        ] {
            let snapshot: Snapshot = serde_json::from_str(&line).unwrap();
            assert_eq!(crate::json::to_string(&snapshot).unwrap(), line);
        }
    }
}
