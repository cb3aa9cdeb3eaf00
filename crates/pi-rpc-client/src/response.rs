//! Responses to commands, as a client reads them, and the data they carry.

use pi_protocol::{AgentMessage, Model, QueueMode, ThinkingLevel, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A response, as read by a client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RpcResponse {
    #[serde(default)]
    pub id: Option<Value>,
    #[serde(default)]
    pub command: Option<String>,
    pub success: bool,
    #[serde(default)]
    pub data: Value,
    #[serde(default)]
    pub error: Option<String>,
}

/// Response to `get_state`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RpcSessionState {
    /// [`Model::unknown`] until a model is selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<std::sync::Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    /// Whether a run is in progress.
    pub is_streaming: bool,
    /// Whether a compaction is in progress.
    pub is_compacting: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// The session file; it may not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether auto-compaction is on.
    pub auto_compaction_enabled: bool,
    /// Number of messages in the model's context.
    pub message_count: usize,
    /// Number of queued messages.
    pub pending_message_count: usize,
}

/// Response to commands that replace the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaceResponse {
    /// Whether an extension canceled it.
    pub cancelled: bool,
}

/// Response to `fork`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkResponse {
    /// The text of the message before which the session was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether an extension canceled it.
    pub cancelled: bool,
}

/// Response to `cycle_model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleModelResponse {
    pub model: std::sync::Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Whether the model was chosen from the models of `--models`.
    pub is_scoped: bool,
}

/// Response to `compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactResponse {
    pub summary: String,
    /// The first entry that stays in the context.
    #[serde(default)]
    pub first_kept_entry_id: Option<String>,
    /// Context tokens before.
    pub tokens_before: u64,
    /// Estimated context tokens after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_tokens_after: Option<u64>,
    /// Tokens used to write the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Data of the extension that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Response to `bash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResponse {
    /// Output of the command, truncated to its end if it was long.
    pub output: String,
    /// The exit code; `None` if the command was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    /// File with the complete output, if it was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// A user message at which the session can be forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RpcForkMessage {
    pub entry_id: String,
    pub text: String,
}

/// Response to `get_entries`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntriesResponse {
    /// The entries, in file order.
    pub entries: Vec<Value>,
    /// The entry the conversation is at.
    pub leaf_id: Option<String>,
}

/// Response to `get_messages`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MessagesResponse {
    pub messages: Vec<AgentMessage>,
}
