//! Roles that the application adds to the transcript and that no model knows.
//!
//! They travel through the agent loop and the session file like any message; only at the model
//! boundary are they turned into user messages, by the code that defines what they mean.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::MessageContent;
use crate::json::{JsonObject, lenient_i64, lenient_u64, present};
use crate::message::{AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage};

mod usual;

/// Any message of a transcript: the model's four roles, the application's, and unknown ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
#[non_exhaustive]
pub enum AgentMessage {
    /// Instructions and tool declarations.
    System(Arc<SystemMessage>),
    /// What the user said.
    User(Arc<UserMessage>),
    /// What the model answered.
    Assistant(Arc<AssistantMessage>),
    /// What a tool returned.
    ToolResult(Arc<ToolResultMessage>),
    /// A shell command the user ran.
    BashExecution(BashExecutionMessage),
    /// A message an extension put in.
    Custom(CustomMessage),
    /// The summary of a branch that was left.
    BranchSummary(BranchSummaryMessage),
    /// The summary of what a compaction removed.
    CompactionSummary(CompactionSummaryMessage),
    /// A message of a role this version does not know; kept, never sent.
    #[serde(untagged)]
    Unknown(JsonObject),
}

impl From<Message> for AgentMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::System(message) => Self::System(message),
            Message::User(message) => Self::User(message),
            Message::Assistant(message) => Self::Assistant(message),
            Message::ToolResult(message) => Self::ToolResult(message),
        }
    }
}

/// A shell command the user ran with `!`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    pub command: String,
    /// What it printed, cut to the limits.
    pub output: String,
    /// Its exit code, which Windows makes as large as 32 bits without a sign allow; absent when it
    /// was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Whether the user cancelled it.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether the output was cut.
    #[serde(default)]
    pub truncated: bool,
    /// Where the whole output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Whether the model shall not see it (`!!`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// A message an extension put in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension's name for this kind of message.
    pub custom_type: String,
    /// What the model sees.
    #[serde(default)]
    pub content: MessageContent,
    /// Whether the user sees it.
    #[serde(default)]
    pub display: bool,
    /// Data for the extension.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// The summary of a branch that was left.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    pub summary: String,
    /// The entry the branch ended at; null when it was empty.
    #[serde(default)]
    pub from_id: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// The summary of what a compaction removed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    pub summary: String,
    /// The size of the context before.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub tokens_before: u64,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}
