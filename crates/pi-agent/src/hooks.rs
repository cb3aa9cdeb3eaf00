//! Hooks into the agent loop.
//!
//! Every hook has a default that changes nothing. A failing hook ends the run with an error
//! message, except around tool calls, where the failure becomes the call's result.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_protocol::json::JsonObject;
use pi_protocol::{AgentMessage, InputBlock, Message, Model, ThinkingLevel, ToolCall, Usage};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::HookError;
use crate::event::SharedMessage;
use crate::tool::{Tool, ToolOutput};
use crate::turn::{FinishedTurn, TurnDecision};

/// State of the loop, as passed to hooks.
#[derive(Clone)]
pub struct LoopContext {
    pub messages: Vec<SharedMessage>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
}

/// Changes a hook makes before a turn or a request; `None` leaves the value unchanged.
#[derive(Clone, Default)]
pub struct LoopUpdate {
    /// A new transcript, after a compaction for example.
    pub transcript: Option<Vec<SharedMessage>>,
    /// Messages to append; each emits its own events.
    pub messages: Vec<AgentMessage>,
    pub tools: Option<Vec<Arc<dyn Tool>>>,
    pub model: Option<Arc<Model>>,
    pub thinking_level: Option<ThinkingLevel>,
}

/// A tool call before it runs.
#[derive(Clone)]
pub struct PendingToolCall {
    /// The response that contains the call.
    pub response: Option<SharedMessage>,
    /// The call as sent by the model.
    pub call: ToolCall,
    pub arguments: JsonObject,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallVerdict {
    /// Run the call with these arguments.
    Run(JsonObject),
    /// Do not run the call; the model receives the reason.
    Block {
        /// The reason sent to the model; a default if absent.
        reason: Option<String>,
        /// Whether the blocked call requests the end of the run.
        terminate: bool,
    },
}

/// Changes a hook makes to a result; `None` leaves the value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultUpdate {
    pub content: Option<Vec<InputBlock>>,
    pub details: Option<Value>,
    pub is_error: Option<bool>,
    pub usage: Option<Usage>,
    pub terminate: Option<bool>,
}

/// A tool call that has run.
#[derive(Clone)]
pub struct FinishedToolCall {
    /// The call with its validated arguments.
    pub pending: PendingToolCall,
    pub output: ToolOutput,
    pub is_error: bool,
}

impl FinishedToolCall {
    /// Applies a hook's changes.
    pub fn apply(&mut self, update: ToolResultUpdate) {
        if let Some(content) = update.content {
            self.output.content = content;
        }
        self.output.details = update.details.or(self.output.details.take());
        self.output.usage = update.usage.or(self.output.usage.take());
        self.output.terminate = update.terminate.or(self.output.terminate);
        self.is_error = update.is_error.unwrap_or(self.is_error);
    }
}

/// Callbacks of an application in the agent loop.
pub trait AgentHooks: Send + Sync {
    /// Called after `turn_end` if another turn follows.
    fn prepare_next_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        context: LoopContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LoopUpdate, HookError>> {
        let _ = (turn, context, cancel);
        ready(Ok(LoopUpdate::default()))
    }

    /// Called before every request, after its messages are in the transcript.
    fn prepare_request<'a>(
        &'a self,
        context: LoopContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LoopUpdate, HookError>> {
        let _ = (context, cancel);
        ready(Ok(LoopUpdate::default()))
    }

    /// Changes the messages of one request; the transcript is not modified.
    fn transform_context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        let _ = cancel;
        ready(Ok(messages))
    }

    /// Converts the transcript to model messages. The default drops all other roles.
    fn convert_to_model(
        &self,
        messages: Vec<SharedMessage>,
    ) -> BoxFuture<'_, Result<Vec<Message>, HookError>> {
        ready(Ok(messages
            .iter()
            .filter_map(|message| model_message(message))
            .collect()))
    }

    /// Called before a call runs, after its arguments were validated. An error becomes the call's
    /// result.
    fn before_tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolCallVerdict, HookError>> {
        let _ = cancel;
        ready(Ok(ToolCallVerdict::Run(call.arguments)))
    }

    /// Called after a call has run, before its end is published. An error becomes the call's
    /// result.
    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let _ = (call, cancel);
        ready(Ok(ToolResultUpdate::default()))
    }

    /// Called when a message is complete, before `message_end`; the place to store it. The returned
    /// message replaces it, and for a response its tool calls are the ones that run. On error, the
    /// message and everything after it are removed from the transcript and the run ends.
    fn finish_message<'a>(
        &'a self,
        message: SharedMessage,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SharedMessage, HookError>> {
        let _ = cancel;
        ready(Ok(message))
    }

    /// Called when a turn is over, before `turn_end`.
    fn finish_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<TurnDecision, HookError>> {
        let _ = (turn, cancel);
        ready(Ok(TurnDecision::Default))
    }
}

/// Hooks that change nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl AgentHooks for NoHooks {}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
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
