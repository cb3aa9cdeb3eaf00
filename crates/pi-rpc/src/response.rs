//! What a client is answered: one record for each command, and the data it carries.
//!
//! A record that goes out is built as text, since its data can be a whole session; one that comes in is an
//! [`RpcResponse`].

use pi_agent::QueueMode;
use pi_ai::{AgentMessage, Model, ThinkingLevel, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::RejectedLine;

/// An answer, as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RpcResponse {
    /// The `id` of the command.
    #[serde(default)]
    pub id: Option<Value>,
    /// The `type` of the command.
    #[serde(default)]
    pub command: Option<String>,
    /// Whether it was done.
    pub success: bool,
    #[serde(default)]
    pub data: Value,
    /// Why it was not done.
    #[serde(default)]
    pub error: Option<String>,
}

/// The head of every answer, in the order clients see it.
#[derive(Serialize)]
struct ResponseHead<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Builds the line that says a command was done; `data` is JSON.
pub(crate) fn success_line(id: Option<&Value>, command: &str, data: Option<&str>) -> String {
    let mut line = head_line(&ResponseHead {
        id,
        r#type: "response",
        command: Some(command),
        success: true,
        error: None,
    });
    if let Some(data) = data {
        line.pop();
        line.reserve(data.len() + 10);
        line.push_str(",\"data\":");
        line.push_str(data);
        line.push('}');
    }
    line
}

/// Builds the line that says a command was not done.
pub(crate) fn failure_line(failure: &RejectedLine) -> String {
    head_line(&ResponseHead {
        id: failure.id.as_ref(),
        r#type: "response",
        command: failure.command.as_deref(),
        success: false,
        error: Some(&failure.error),
    })
}

fn head_line(head: &ResponseHead<'_>) -> String {
    // Strings and JSON values have no way to fail.
    pi_ai::json::to_string(head).unwrap_or_default()
}

/// How things stand, the answer to `get_state`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RpcSessionState {
    /// The model, where one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<std::sync::Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    /// Whether the agent works.
    pub is_streaming: bool,
    /// Whether a compaction is under way.
    pub is_compacting: bool,
    /// How steering messages are delivered.
    pub steering_mode: QueueMode,
    /// How follow-up messages are delivered.
    pub follow_up_mode: QueueMode,
    /// The session file, which may not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether compaction happens by itself.
    pub auto_compaction_enabled: bool,
    /// How many messages the model sees.
    pub message_count: usize,
    /// How many messages are queued.
    pub pending_message_count: usize,
}

/// The texts that were queued, the answer to `clear_queue`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedMessages {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// The answer to commands that replace the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaceResponse {
    /// Whether an extension stopped it.
    pub cancelled: bool,
}

/// The answer to `fork`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkResponse {
    /// The text of the message that was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether an extension stopped it.
    pub cancelled: bool,
}

/// The answer to `cycle_model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleModelResponse {
    pub model: std::sync::Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Whether the choice was among the models of `--models`.
    pub is_scoped: bool,
}

/// The answer to `compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactResponse {
    pub summary: String,
    /// The first entry that stays.
    #[serde(default)]
    pub first_kept_entry_id: Option<String>,
    /// The size of the context before.
    pub tokens_before: u64,
    /// The size of the context after, estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_tokens_after: Option<u64>,
    /// What the summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Data of whoever wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The answer to `bash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResponse {
    /// What the command wrote, cut to its end if it was long.
    pub output: String,
    /// The exit code; none if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether it was stopped.
    pub cancelled: bool,
    /// Whether the output was cut.
    pub truncated: bool,
    /// Where all of the output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// Counts and costs, the answer to `get_session_stats`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RpcSessionStats {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<String>,
    pub session_id: String,
    /// Messages of the user.
    pub user_messages: u64,
    pub assistant_messages: u64,
    /// Calls in the answers.
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    pub tokens: TokenCounts,
    /// Cost in US dollars.
    pub cost: f64,
    /// How full the model's window is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<RpcContextUsage>,
}

/// Tokens by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RpcContextUsage {
    /// The size of the context, where it is known.
    pub tokens: Option<u64>,
    /// The size of the window.
    pub context_window: u64,
    /// How much of it is filled, in percent.
    pub percent: Option<f64>,
}

/// A message a fork can begin at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RpcForkMessage {
    pub entry_id: String,
    pub text: String,
}

/// Entries of the session file, the answer to `get_entries`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntriesResponse {
    /// The entries, in the order of the file.
    pub entries: Vec<Value>,
    /// The entry the conversation stands at.
    pub leaf_id: Option<String>,
}

/// The messages the model sees, the answer to `get_messages`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MessagesResponse {
    pub messages: Vec<AgentMessage>,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_spelled_in_the_order_clients_see() {
        assert_eq!(
            success_line(Some(&json!("r1")), "abort", None),
            r#"{"id":"r1","type":"response","command":"abort","success":true}"#
        );
        assert_eq!(
            success_line(None, "cycle_model", Some("null")),
            r#"{"type":"response","command":"cycle_model","success":true,"data":null}"#
        );
        let failure = RejectedLine {
            id: Some(json!(5)),
            command: None,
            error: "a \"b\"\n".to_owned(),
        };
        assert_eq!(
            failure_line(&failure),
            r#"{"id":5,"type":"response","success":false,"error":"a \"b\"\n"}"#
        );
    }
}
