//! What an agent tells its listeners.
//!
//! The JSON form is the one of RPC and JSON mode. Listeners are told in order and awaited; messages
//! travel as shared handles, so an event costs the same however long the message is.

use std::sync::Arc;

use pi_ai::{AgentMessage, AssistantMessageEvent, InputBlock, LiveMessage};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::tool::ToolOutput;

/// A message as it stands in the transcript.
pub type SharedMessage = Arc<AgentMessage>;

/// One step of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum AgentEvent {
    AgentStart,
    /// A run is over; nothing follows.
    AgentEnd {
        /// The messages this run added.
        messages: Vec<SharedMessage>,
    },
    /// A turn begins: one answer of the model and the tools it calls.
    TurnStart,
    /// A turn is over.
    TurnEnd {
        message: SharedMessage,
        /// The results of its tool calls.
        tool_results: Vec<SharedMessage>,
    },
    /// A message begins; all but the model's own are complete at once.
    MessageStart {
        /// The message as far as it is known.
        message: SharedMessage,
    },
    /// The model's answer grew.
    MessageUpdate {
        /// The answer so far.
        #[serde(rename = "usage", serialize_with = "usage_of")]
        message: LiveMessage,
        assistant_message_event: AssistantMessageEvent,
    },
    /// A message is complete and part of the transcript.
    MessageEnd {
        message: SharedMessage,
    },
    /// A tool call is about to be checked and run.
    ToolExecutionStart {
        tool_call_id: String,
        tool_name: String,
        /// The arguments as the model gave them.
        args: Value,
    },
    /// A running tool has something to show.
    ToolExecutionUpdate {
        tool_call_id: String,
        tool_name: String,
        /// The arguments as the model gave them.
        args: Value,
        /// The result so far.
        partial_result: ToolOutput,
    },
    /// A tool call is over.
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: ToolOutput,
        is_error: bool,
    },
}

fn usage_of<S: Serializer>(message: &LiveMessage, serializer: S) -> Result<S::Ok, S::Error> {
    message.read(|message| message.usage.serialize(serializer))
}

/// Creates the text block most results consist of.
pub(crate) fn text_blocks(text: impl Into<String>) -> Vec<InputBlock> {
    vec![InputBlock::text(text)]
}
