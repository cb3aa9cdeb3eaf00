//! The events of a streaming answer.
//!
//! An event carries what is new and nothing else; the message so far is behind the
//! [`LiveMessage`] of `start`, shared and growing. The JSON form is the one of `message_update`
//! records, which have no `partial`.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::content::ToolCall;
use crate::error::ProviderError;
use crate::live_message::LiveMessage;
use crate::message::AssistantMessage;
use crate::stop_reason::StopReason;

/// One step of a streaming answer: `start`, then blocks, then `done` or `error`.
#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum AssistantMessageEvent {
    /// The service accepted the request.
    Start {
        /// The message as it grows.
        #[serde(skip)]
        message: LiveMessage,
    },
    /// A text block begins, empty.
    TextStart {
        /// The block's place in the message.
        content_index: usize,
    },
    TextDelta {
        /// The block's place in the message.
        content_index: usize,
        delta: String,
    },
    /// A text block is complete.
    TextEnd {
        /// The block's place in the message.
        content_index: usize,
        content: String,
        /// The provider's data about the text, where its own events carry it.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
    },
    /// A thinking block begins.
    ThinkingStart {
        /// The block's place in the message.
        content_index: usize,
    },
    ThinkingDelta {
        /// The block's place in the message.
        content_index: usize,
        delta: String,
    },
    /// A thinking block is complete.
    ThinkingEnd {
        /// The block's place in the message.
        content_index: usize,
        content: String,
        /// The provider's data about the thinking, where its own events carry it.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_signature: Option<String>,
        /// Whether the provider withheld the text, where its own events say so.
        #[serde(skip_serializing_if = "Option::is_none")]
        redacted: Option<bool>,
    },
    /// A tool call begins.
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        /// The block's place in the message.
        content_index: usize,
        id: String,
        tool_name: String,
    },
    /// A piece of the JSON text of the arguments arrived.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        /// The block's place in the message.
        content_index: usize,
        delta: String,
    },
    /// A tool call is complete.
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        /// The block's place in the message.
        content_index: usize,
        #[serde(serialize_with = "as_block")]
        tool_call: ToolCall,
    },
    /// The answer is complete.
    Done {
        reason: StopReason,
        message: Arc<AssistantMessage>,
    },
    /// The answer failed or was cancelled.
    Error {
        /// `error` or `aborted`.
        reason: StopReason,
        /// The message with what had arrived and `errorMessage`.
        error: Arc<AssistantMessage>,
        #[serde(skip)]
        cause: ProviderError,
    },
}

/// Writes a call as it stands in a message, with the type of its block.
fn as_block<S: Serializer>(call: &ToolCall, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Block<'call> {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(flatten)]
        call: &'call ToolCall,
    }
    Block {
        kind: "toolCall",
        call,
    }
    .serialize(serializer)
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
