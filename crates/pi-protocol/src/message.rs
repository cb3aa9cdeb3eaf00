//! Messages that models read and write.
//!
//! Session files, RPC and events share this JSON format: field names, field order and the omission
//! of absent keys are part of the contract. Application-only roles are in [`crate::app_message`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app_message::AgentMessage;
use crate::content::{AssistantBlock, InputBlock, MessageContent, ToolCall, lenient_blocks};
use crate::json::{
    JsonObject, lenient_i64, lenient_optional, lenient_optional_u64, null_as_default, present,
};
use crate::nested_calls::NestedCalls;
use crate::stop_reason::StopReason;
use crate::tool_schema::{Tool, ToolReference};
use crate::usage::Usage;

/// A message with one of the four roles that models understand.
///
/// The transcript is sent with every request, so message contents are shared, never copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    System(Arc<SystemMessage>),
    User(Arc<UserMessage>),
    Assistant(Arc<AssistantMessage>),
    ToolResult(Arc<ToolResultMessage>),
}

impl Message {
    /// Returns the creation time in milliseconds since the Unix epoch.
    pub fn timestamp(&self) -> i64 {
        match self {
            Self::System(message) => message.timestamp,
            Self::User(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.timestamp,
        }
    }

    pub fn as_system(&self) -> Option<&SystemMessage> {
        match self {
            Self::System(message) => Some(message),
            Self::User(_) | Self::Assistant(_) | Self::ToolResult(_) => None,
        }
    }

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

/// A change of the system prompt sections or the tools, at its position in the transcript.
///
/// The first one is the system prompt. Later ones change it: `content` adds instructions,
/// `sections` replaces or removes named sections, and tools are added or removed. See
/// [`crate::transcript`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    #[serde(default)]
    pub content: MessageContent,
    /// Named prompt sections, in order; `null` removes a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<JsonObject>,
    /// Tools that become available at this point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_added: Option<Vec<Tool>>,
    /// Names of tools that are no longer available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_removed: Option<Vec<ToolReference>>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    #[serde(default)]
    pub content: MessageContent,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// A response from a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in order.
    #[serde(default, deserialize_with = "lenient_blocks")]
    pub content: Vec<AssistantBlock>,
    /// Wire API used.
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub provider: String,
    /// Requested model.
    #[serde(default)]
    pub model: String,
    /// Model that responded, if different from the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's response ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The provider's name for the reasoning effort it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// Problems that did not fail the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Diagnostic>>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub usage: Usage,
    #[serde(default)]
    pub stop_reason: StopReason,
    /// Where to poll for the response if `stop_reason` is `deferred`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredHandle>,
    /// Error message for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The provider's own stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// Whether the provider reports that the model ended its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<bool>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Time from the start of the request to the end of the response; absent if the response is not
    /// from this request.
    #[serde(
        default,
        deserialize_with = "lenient_optional_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub duration_ms: Option<u64>,
    /// The thinking level of the request. A name, so that levels of later versions can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl AssistantMessage {
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(AssistantBlock::as_tool_call)
    }

    /// Concatenates the text blocks without a separator.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(AssistantBlock::as_text)
            .collect()
    }
}

/// Text of the result of a call that was interrupted.
pub const MISSING_RESULT: &str =
    "No result: this call was interrupted, and the tool may not have run.";

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// ID of the tool call.
    #[serde(default)]
    pub tool_call_id: String,
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
    /// Tokens used by the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// How long the tool ran; absent if it did not run.
    #[serde(
        default,
        deserialize_with = "lenient_optional_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub duration_ms: Option<u64>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// The calls that the tool made itself; never sent to the model.
    #[serde(
        default,
        deserialize_with = "lenient_optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub nested_calls: Option<NestedCalls>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// A problem that did not fail the message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    /// Category of the problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// Milliseconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient_i64")]
    pub timestamp: i64,
    /// Underlying error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DiagnosticError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<JsonObject>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosticError {
    /// Class name of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub message: String,
    /// Stack trace; only set by JavaScript code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Error code, a number or a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
}

/// Where to poll for a deferred response.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeferredHandle {
    pub provider: String,
    /// Requested model.
    pub model_id: String,
    /// Wire API to poll with.
    pub api: String,
    /// The provider's token for the response.
    pub id: String,
    /// When the response expires, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// How long to wait before polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_after_ms: Option<u64>,
    /// Provider data for rebuilding the message.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
}
