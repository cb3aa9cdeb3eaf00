//! Events of an agent run.
//!
//! The JSON form is the one of RPC and JSON mode. Messages are shared handles, so the cost of an event
//! does not depend on the message's length.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app_message::AgentMessage;
use crate::assistant_event::AssistantMessageEvent;
use crate::live_message::LiveMessage;
use crate::tool_output::ToolOutput;
use crate::usage::Usage;

/// A message of the transcript.
pub type SharedMessage = Arc<AgentMessage>;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        usage: Arc<Usage>,
        assistant_message_event: AssistantMessageEvent,
        /// The response, which may have grown since; only in the process that receives it. Not part
        /// of the JSON form.
        #[serde(skip)]
        live: Option<LiveMessage>,
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
        /// The call of the tool that made this call; absent if the model made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    /// A running tool reports a partial result.
    ToolExecutionUpdate {
        tool_call_id: String,
        tool_name: String,
        /// The arguments as sent by the model.
        args: Value,
        /// Boxed, like the result, so that the events of every delta stay small.
        partial_result: Box<ToolOutput>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: Box<ToolOutput>,
        is_error: bool,
        /// How long the tool ran; absent if it did not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
}

impl AgentEvent {
    /// Creates the event for a response that grew.
    pub fn message_update(message: LiveMessage, event: AssistantMessageEvent) -> Self {
        Self::MessageUpdate {
            usage: message.usage(),
            assistant_message_event: event,
            live: Some(message),
        }
    }
}
