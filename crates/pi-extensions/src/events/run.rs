//! Events of a run: input, messages, requests, tool calls.

use std::path::Path;
use std::sync::Arc;

use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantMessageEvent, Entry, ImageContent, InputBlock, Message,
    SharedMessage, Usage,
};
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
    ProviderStreamEvent<'_> => "provider_stream_event";
    ToolCallEvent<'_> => "tool_call" -> ToolCallResult;
    ToolResultEvent<'_> => "tool_result" -> ChangedResult;
    ToolExecutionStart<'_> => "tool_execution_start";
    ToolExecutionUpdate<'_> => "tool_execution_update";
    ToolExecutionEnd<'_> => "tool_execution_end";
    UserBash<'_> => "user_bash" -> UserBashResult;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputEvent<'a> {
    pub text: &'a str,
    pub images: Option<&'a [ImageContent]>,
    pub source: &'static str,
    pub streaming_behavior: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeAgentStart<'a> {
    /// What starts the run.
    pub message_type: &'static str,
    /// Absent if a message of an extension starts the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a AgentMessage>,
    pub images: Option<&'a [ImageContent]>,
    pub system_prompt: String,
    pub system_prompt_options: Value,
}

#[derive(Serialize)]
pub struct AgentStarted {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    pub turn_index: u64,
    pub timestamp: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd<'a> {
    pub turn_index: u64,
    pub message: &'a SharedMessage,
    pub tool_results: &'a [SharedMessage],
    pub message_entry_id: String,
    pub tool_result_entry_ids: Vec<String>,
    pub outcome: &'static str,
    /// Always empty; handlers replace it.
    pub entries: [Value; 0],
    pub r#continue: bool,
    pub context: Option<BoundaryContextData>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeSettle {
    pub outcome: &'static str,
    /// Always empty; handlers replace it.
    pub entries: [Value; 0],
    pub r#continue: bool,
    pub context: Option<BoundaryContextData>,
}

/// The context the model would see next.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundaryContextData {
    pub entries: Vec<Arc<Entry>>,
    pub messages: Vec<AgentMessage>,
    pub llm_messages: Vec<Message>,
    pub pending_messages: Vec<AgentMessage>,
    pub can_continue: bool,
}

#[derive(Serialize)]
pub struct MessageStart<'a> {
    pub message: &'a SharedMessage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageUpdate<'a> {
    pub message: AgentMessage,
    pub assistant_message_event: &'a AssistantMessageEvent,
}

#[derive(Serialize)]
pub struct MessageEnd<'a> {
    pub message: &'a SharedMessage,
}

/// The conversation of a request, without system messages.
#[derive(Serialize)]
pub struct ContextEvent {
    /// Already serialized, to find out whether handlers change it.
    pub messages: Arc<Value>,
}

/// The conversation of a request, with system messages.
#[derive(Serialize)]
pub struct ContextWithSystem {
    /// Already serialized, to find out whether handlers change it.
    pub messages: Arc<Value>,
}

#[derive(Serialize)]
pub struct BeforeProviderRequest<'a> {
    pub payload: &'a Value,
}

#[derive(Serialize)]
pub struct BeforeProviderHeaders<'a> {
    pub headers: &'a HeaderOverrides,
}

#[derive(Serialize)]
pub struct AfterProviderResponse<'a> {
    pub status: u16,
    pub headers: &'a std::collections::BTreeMap<String, String>,
}

/// An event of a streamed response, as the provider sent it.
#[derive(Serialize)]
pub struct ProviderStreamEvent<'a> {
    pub provider: &'a str,
    pub api: &'a str,
    pub model: &'a str,
    pub data: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallEvent<'a> {
    pub tool_name: &'a str,
    pub tool_call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<&'a str>,
    pub input: &'a JsonObject,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultEvent<'a> {
    pub tool_name: &'a str,
    pub tool_call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<&'a str>,
    pub input: &'a JsonObject,
    pub content: &'a [InputBlock],
    pub details: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a Value>,
    pub is_error: bool,
    pub usage: Option<&'a Usage>,
}

#[derive(Serialize)]
#[serde(transparent)]
pub struct ToolExecutionStart<'a>(pub &'a AgentEvent);

#[derive(Serialize)]
#[serde(transparent)]
pub struct ToolExecutionUpdate<'a>(pub &'a AgentEvent);

#[derive(Serialize)]
#[serde(transparent)]
pub struct ToolExecutionEnd<'a>(pub &'a AgentEvent);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserBash<'a> {
    pub command: &'a str,
    pub exclude_from_context: bool,
    pub cwd: &'a Path,
}
