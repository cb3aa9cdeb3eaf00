//! The events of a streaming response.
//!
//! An event carries only its own delta; the message so far is available through the shared
//! [`LiveMessage`] of `start`. The JSON form is that of `message_update` records, which have no
//! `partial`.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::content::ToolCall;
use crate::error::ProviderError;
use crate::live_message::LiveMessage;
use crate::message::AssistantMessage;
use crate::stop_reason::StopReason;

/// An event of a streaming response: `start`, then content blocks, then `done` or `error`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum AssistantMessageEvent {
    /// The service accepted the request.
    Start {
        /// The growing message; empty if the event was read from JSON.
        #[serde(skip)]
        message: LiveMessage,
    },
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
        content: String,
        /// The provider's signature of the text, for services that include it in this event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
        content: String,
        /// The provider's signature of the thinking, for services that include it in this event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
        /// Whether the provider withheld the text, for services that include it in this event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: String,
        tool_name: String,
    },
    /// A piece of the JSON text of the arguments.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        #[serde(with = "tool_call_block")]
        #[cfg_attr(
            feature = "schema",
            schemars(with = "tool_call_block::ToolCallBlock<'static>")
        )]
        tool_call: Box<ToolCall>,
    },
    Done {
        reason: StopReason,
        message: Arc<AssistantMessage>,
    },
    /// The response failed or was canceled.
    Error {
        /// `error` or `aborted`.
        reason: StopReason,
        /// The partial message, with `errorMessage` set.
        error: Arc<AssistantMessage>,
        /// The classified error; absent if the event was read from JSON.
        #[serde(skip)]
        cause: Option<ProviderError>,
    },
}

/// A tool call as a content block, with its `type`.
mod tool_call_block {
    use super::{Deserialize, Deserializer, Serialize, Serializer, ToolCall};

    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename = "toolCall")]
    pub(super) struct ToolCallBlock<'call> {
        #[serde(flatten)]
        call: &'call ToolCall,
    }

    pub(super) fn serialize<S: Serializer>(
        call: impl AsRef<ToolCall>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let call = call.as_ref();
        ToolCallBlock { call }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<ToolCall>, D::Error> {
        let mut call = Box::<ToolCall>::deserialize(deserializer)?;
        call.extra.shift_remove("type");
        Ok(call)
    }
}

impl AssistantMessageEvent {
    /// Returns the final message of a terminal event.
    pub fn final_message(&self) -> Option<&Arc<AssistantMessage>> {
        match self {
            Self::Done { message, .. } | Self::Error { error: message, .. } => Some(message),
            Self::Start { .. }
            | Self::TextStart { .. }
            | Self::TextDelta { .. }
            | Self::TextEnd { .. }
            | Self::ThinkingStart { .. }
            | Self::ThinkingDelta { .. }
            | Self::ThinkingEnd { .. }
            | Self::ToolCallStart { .. }
            | Self::ToolCallDelta { .. }
            | Self::ToolCallEnd { .. } => None,
        }
    }
}
