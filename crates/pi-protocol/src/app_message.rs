//! Message roles that exist only in the application, not in model APIs.
//!
//! They pass through the agent loop and the session file like any other message. At the model
//! boundary, the code that defines each role converts it into a user message.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::MessageContent;
use crate::json::{JsonObject, lenient_i64, lenient_u64, present};
use crate::message::{AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage};

mod role_first;

/// Any transcript message: the four model roles, the application's roles, and unknown ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "camelCase")]
#[non_exhaustive]
pub enum AgentMessage {
    System(Arc<SystemMessage>),
    User(Arc<UserMessage>),
    Assistant(Arc<AssistantMessage>),
    ToolResult(Arc<ToolResultMessage>),
    /// A shell command run by the user.
    BashExecution(BashExecutionMessage),
    /// A message injected by an extension.
    Custom(CustomMessage),
    /// Summary of an abandoned branch.
    BranchSummary(BranchSummaryMessage),
    /// Summary of the messages that a compaction removed.
    CompactionSummary(CompactionSummaryMessage),
    /// A message with an unknown role; preserved, never sent to a model.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
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

/// A shell command that the user ran with `!`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    pub command: String,
    /// Output, truncated to the output limits.
    pub output: String,
    /// Exit code; `None` if the process was killed. Windows exit codes span the full unsigned
    /// 32-bit range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub cancelled: bool,
    /// Whether `output` was truncated.
    #[serde(default)]
    pub truncated: bool,
    /// File that holds the full output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Whether to hide the command from the model (`!!`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// A message injected by an extension.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// Extension-defined message type; empty if it gave none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub custom_type: String,
    /// Content for the model.
    #[serde(default)]
    pub content: MessageContent,
    /// Whether to show the message to the user.
    #[serde(default)]
    pub display: bool,
    /// Extension data, never sent to the model.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Summary of an abandoned branch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    pub summary: String,
    /// Entry at which the branch ended; null if the branch was empty.
    #[serde(default)]
    pub from_id: Option<String>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Summary of the messages that a compaction removed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    pub summary: String,
    /// Context size before compaction.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub tokens_before: u64,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}
