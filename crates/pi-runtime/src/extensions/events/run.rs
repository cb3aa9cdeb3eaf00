//! Events of a run: input, messages, requests, tool calls.

use std::path::Path;
use std::sync::Arc;

use pi_core::{AgentEvent, SharedMessage};
use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::{AgentMessage, AssistantMessageEvent, ImageContent, InputBlock, Message, Usage};
use pi_session::Entry;
use serde::Serialize;
use serde_json::Value;

use super::events;
use super::results::{
    ChangedResult, ContextResult, DraftedEntries, HeadersResult, InputAction, MessageResult,
    PayloadResult, StartResult, ToolCallResult, UserBashResult,
};

events! {
    InputEvent<'_> => "input" -> InputAction;
    BeforeAgentStart<'_> => "before_agent_start" -> StartResult;
    AgentStarted => "agent_start";
    TurnStart => "turn_start";
    TurnEnd<'_> => "turn_end" -> DraftedEntries;
    BeforeSettle => "agent_before_settle" -> DraftedEntries;
    MessageStart<'_> => "message_start";
    MessageUpdate<'_> => "message_update";
    MessageEnd<'_> => "message_end" -> MessageResult;
    ContextEvent => "context" -> ContextResult;
    ContextWithSystem => "context_with_system" -> ContextResult;
    BeforeProviderRequest<'_> => "before_provider_request" -> PayloadResult;
    BeforeProviderHeaders<'_> => "before_provider_headers" -> HeadersResult;
    AfterProviderResponse<'_> => "after_provider_response";
    ToolCallEvent<'_> => "tool_call" -> ToolCallResult;
    ToolResultEvent<'_> => "tool_result" -> ChangedResult;
    ToolExecutionStart<'_> => "tool_execution_start";
    ToolExecutionUpdate<'_> => "tool_execution_update";
    ToolExecutionEnd<'_> => "tool_execution_end";
    UserBash<'_> => "user_bash" -> UserBashResult;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InputEvent<'a> {
    pub(crate) text: &'a str,
    pub(crate) images: Option<&'a [ImageContent]>,
    pub(crate) source: &'static str,
    pub(crate) streaming_behavior: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BeforeAgentStart<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) images: Option<&'a [ImageContent]>,
    pub(crate) system_prompt: String,
    pub(crate) system_prompt_options: Value,
}

#[derive(Serialize)]
pub(crate) struct AgentStarted {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnStart {
    pub(crate) turn_index: u64,
    pub(crate) timestamp: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnEnd<'a> {
    pub(crate) turn_index: u64,
    pub(crate) message: &'a SharedMessage,
    pub(crate) tool_results: &'a [SharedMessage],
    pub(crate) message_entry_id: String,
    pub(crate) tool_result_entry_ids: Vec<String>,
    pub(crate) outcome: &'static str,
    /// Always empty; handlers replace it.
    pub(crate) entries: [Value; 0],
    pub(crate) r#continue: bool,
    pub(crate) context: Option<BoundaryContextData>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BeforeSettle {
    pub(crate) outcome: &'static str,
    /// Always empty; handlers replace it.
    pub(crate) entries: [Value; 0],
    pub(crate) r#continue: bool,
    pub(crate) context: Option<BoundaryContextData>,
}

/// The context the model would see next.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BoundaryContextData {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) messages: Vec<AgentMessage>,
    pub(crate) llm_messages: Vec<Message>,
    pub(crate) pending_messages: Vec<AgentMessage>,
    pub(crate) can_continue: bool,
}

#[derive(Serialize)]
pub(crate) struct MessageStart<'a> {
    pub(crate) message: &'a SharedMessage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageUpdate<'a> {
    pub(crate) message: AgentMessage,
    pub(crate) assistant_message_event: &'a AssistantMessageEvent,
}

#[derive(Serialize)]
pub(crate) struct MessageEnd<'a> {
    pub(crate) message: &'a SharedMessage,
}

/// The conversation of a request, without system messages.
#[derive(Serialize)]
pub(crate) struct ContextEvent {
    /// Already serialized, to find out whether handlers change it.
    pub(crate) messages: Arc<Value>,
}

/// The conversation of a request, with system messages.
#[derive(Serialize)]
pub(crate) struct ContextWithSystem {
    /// Already serialized, to find out whether handlers change it.
    pub(crate) messages: Arc<Value>,
}

#[derive(Serialize)]
pub(crate) struct BeforeProviderRequest<'a> {
    pub(crate) payload: &'a Value,
}

#[derive(Serialize)]
pub(crate) struct BeforeProviderHeaders<'a> {
    pub(crate) headers: &'a HeaderOverrides,
}

#[derive(Serialize)]
pub(crate) struct AfterProviderResponse<'a> {
    pub(crate) status: u16,
    pub(crate) headers: &'a std::collections::BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallEvent<'a> {
    pub(crate) tool_name: &'a str,
    pub(crate) tool_call_id: &'a str,
    pub(crate) input: &'a JsonObject,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolResultEvent<'a> {
    pub(crate) tool_name: &'a str,
    pub(crate) tool_call_id: &'a str,
    pub(crate) input: &'a JsonObject,
    pub(crate) content: &'a [InputBlock],
    pub(crate) details: Option<&'a Value>,
    pub(crate) is_error: bool,
    pub(crate) usage: Option<&'a Usage>,
}

#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ToolExecutionStart<'a>(pub(crate) &'a AgentEvent);

#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ToolExecutionUpdate<'a>(pub(crate) &'a AgentEvent);

#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ToolExecutionEnd<'a>(pub(crate) &'a AgentEvent);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserBash<'a> {
    pub(crate) command: &'a str,
    pub(crate) exclude_from_context: bool,
    pub(crate) cwd: &'a Path,
}
