//! Messages a model sees and writes.
//!
//! The JSON form is the one of session files, RPC and events: field names, order and omission of
//! absent keys are part of the contract. Roles that only the application knows live in
//! [`crate::app_message`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app_message::AgentMessage;
use crate::content::{AssistantBlock, MessageContent, InputBlock, ToolCall, lenient_blocks};
use crate::json::{JsonObject, lenient_i64, null_as_default, present};
use crate::stop_reason::StopReason;
use crate::tool_schema::{Tool, ToolReference};
use crate::usage::Usage;

/// A message of one of the four roles that models understand.
///
/// A transcript is sent again with every turn, so what a message says is shared and never copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Instructions and tool declarations.
    System(Arc<SystemMessage>),
    /// What the user said.
    User(Arc<UserMessage>),
    /// What the model answered.
    Assistant(Arc<AssistantMessage>),
    /// What a tool returned.
    ToolResult(Arc<ToolResultMessage>),
}

impl Message {
    /// Returns when the message was made, in milliseconds since the epoch.
    pub fn timestamp(&self) -> i64 {
        match self {
            Self::System(message) => message.timestamp,
            Self::User(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.timestamp,
        }
    }

    /// Returns the system message, if this is one.
    pub fn as_system(&self) -> Option<&SystemMessage> {
        match self {
            Self::System(message) => Some(message),
            Self::User(_) | Self::Assistant(_) | Self::ToolResult(_) => None,
        }
    }

    /// Returns the assistant message, if this is one.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Assistant(message) => Some(message),
            Self::User(_) | Self::System(_) | Self::ToolResult(_) => None,
        }
    }
}

macro_rules! message_from {
    ($($variant:ident($message:ty)),+) => {
        $(impl From<$message> for Message {
            fn from(message: $message) -> Self {
                Self::$variant(Arc::new(message))
            }
        }

        impl From<$message> for AgentMessage {
            fn from(message: $message) -> Self {
                Self::$variant(Arc::new(message))
            }
        })+
    };
}

message_from!(
    System(SystemMessage),
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage)
);

/// System instructions and tool declarations at one point of the transcript.
///
/// The first one is the system prompt. Later ones change it: `content` adds instructions,
/// `sections` replace or remove named parts, tools come and go. See [`crate::transcript`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    #[serde(default)]
    pub content: MessageContent,
    /// Named parts of the prompt in order; `null` removes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<JsonObject>,
    /// Tools that become available here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_added: Option<Vec<Tool>>,
    /// Tools that stop being available here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_removed: Option<Vec<ToolReference>>,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    #[serde(default)]
    pub content: MessageContent,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in order.
    #[serde(default, deserialize_with = "lenient_blocks")]
    pub content: Vec<AssistantBlock>,
    /// The wire API that was spoken.
    #[serde(default)]
    pub api: String,
    /// The provider that answered.
    #[serde(default)]
    pub provider: String,
    /// The model that was asked.
    #[serde(default)]
    pub model: String,
    /// The model that answered, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The provider's own word for the effort it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// What went wrong along the way without failing the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Diagnostic>>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub usage: Usage,
    /// Why the message ended.
    #[serde(default)]
    pub stop_reason: StopReason,
    /// Where to ask for the answer when `stop_reason` is deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredHandle>,
    /// What failed, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The provider's own word for why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// Whether the provider says that the model ended its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<bool>,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl AssistantMessage {
    /// Returns the tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(AssistantBlock::as_tool_call)
    }

    /// Joins the text blocks without separator.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(AssistantBlock::as_text)
            .collect()
    }
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The call this answers.
    #[serde(default)]
    pub tool_call_id: String,
    /// The tool that ran.
    #[serde(default)]
    pub tool_name: String,
    /// Text and images for the model.
    #[serde(default, deserialize_with = "lenient_blocks")]
    pub content: Vec<InputBlock>,
    /// Data for the application, never sent to the model.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    /// Tokens the tool itself used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Something that went wrong along the way and was survived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What kind of trouble it was.
    #[serde(rename = "type")]
    pub kind: String,
    /// Milliseconds since the epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// The error behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DiagnosticError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<JsonObject>,
}

/// The error of a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DiagnosticError {
    /// The error's class name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub message: String,
    /// A stack trace; ours never has one, JavaScript's may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// An error code, number or string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
}

/// Where to ask for an answer that the provider promised for later.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeferredHandle {
    /// The provider that promised.
    pub provider: String,
    /// The model that was asked.
    pub model_id: String,
    /// The wire API to ask over.
    pub api: String,
    /// The provider's token of the response.
    pub id: String,
    /// When the promise ends, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// How long to wait before asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_after_ms: Option<u64>,
    /// What the provider needs to rebuild the message.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
}
