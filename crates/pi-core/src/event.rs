//! Events an agent emits.
//!
//! The JSON form is the one of RPC and JSON mode. Listeners are called in order and awaited.
//! Messages are shared handles, so the cost of an event does not depend on the message's length.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantMessageEvent, InputBlock, LiveMessage, Message, Usage};
use serde::Serialize;
use serde_json::Value;

use crate::tool::ToolOutput;

/// A message of the transcript.
pub type SharedMessage = Arc<AgentMessage>;

#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum AgentEvent {
    AgentStart,
    /// A run is over; no event follows.
    AgentEnd {
        /// The messages added by this run.
        messages: Vec<SharedMessage>,
    },
    /// A turn begins: one model response and the tool calls in it.
    TurnStart,
    TurnEnd {
        message: SharedMessage,
        /// The results of its tool calls.
        tool_results: Vec<SharedMessage>,
    },
    /// A message begins. Only model responses are incomplete at this point.
    MessageStart {
        /// The message so far.
        message: SharedMessage,
    },
    /// The model response grew.
    MessageUpdate {
        /// Usage so far.
        usage: Usage,
        /// The response, which may have grown since.
        #[serde(skip)]
        message: LiveMessage,
        assistant_message_event: AssistantMessageEvent,
    },
    /// A message is complete and part of the transcript.
    MessageEnd {
        message: SharedMessage,
    },
    /// A tool call is about to be validated and run.
    ToolExecutionStart {
        tool_call_id: String,
        tool_name: String,
        /// The arguments as sent by the model.
        args: Value,
    },
    /// A running tool reports a partial result.
    ToolExecutionUpdate {
        tool_call_id: String,
        tool_name: String,
        /// The arguments as sent by the model.
        args: Value,
        partial_result: ToolOutput,
    },
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: ToolOutput,
        is_error: bool,
    },
}

pub(crate) fn text_blocks(text: impl Into<String>) -> Vec<InputBlock> {
    vec![InputBlock::text(text)]
}

impl AgentEvent {
    /// Creates the event for a response that grew.
    pub fn message_update(message: LiveMessage, event: AssistantMessageEvent) -> Self {
        Self::MessageUpdate {
            usage: message.read(|message| message.usage.clone()),
            message,
            assistant_message_event: event,
        }
    }
}

/// Returns the message if models understand its role.
pub fn model_message(message: &AgentMessage) -> Option<Message> {
    match message {
        AgentMessage::System(message) => Some(Message::System(message.clone())),
        AgentMessage::User(message) => Some(Message::User(message.clone())),
        AgentMessage::Assistant(message) => Some(Message::Assistant(message.clone())),
        AgentMessage::ToolResult(message) => Some(Message::ToolResult(message.clone())),
        _ => None,
    }
}
