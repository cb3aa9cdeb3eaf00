//! Where an application takes part in the loop.
//!
//! Every hook has a default that changes nothing. A hook that fails ends the run with a message
//! that says why, except around tool calls, where the failure becomes the call's result.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::json::JsonObject;
use pi_ai::{AgentMessage, InputBlock, Message, Model, ThinkingLevel, ToolCall, Usage};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::HookError;
use crate::event::SharedMessage;
use crate::tool::{Tool, ToolOutput};
use crate::turn::{FinishedTurn, TurnDecision};

/// The loop as a hook sees it.
#[derive(Clone)]
pub struct LoopContext {
    pub messages: Vec<SharedMessage>,
    /// The tools that can run.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The model in use.
    pub model: Arc<Model>,
    /// The thinking level in use.
    pub thinking_level: ThinkingLevel,
}

/// What a hook changes before a turn or a request; what is absent stays.
#[derive(Clone, Default)]
pub struct LoopUpdate {
    /// Another transcript, after a compaction for instance.
    pub transcript: Option<Vec<SharedMessage>>,
    /// Messages to append, with events of their own.
    pub messages: Vec<AgentMessage>,
    pub tools: Option<Vec<Arc<dyn Tool>>>,
    pub model: Option<Arc<Model>>,
    pub thinking_level: Option<ThinkingLevel>,
}

/// A tool call as a hook sees it before it runs.
#[derive(Clone)]
pub struct PendingToolCall {
    /// The answer that asks for it.
    pub response: Option<SharedMessage>,
    /// The call as the model made it.
    pub call: ToolCall,
    pub arguments: JsonObject,
}

/// What a hook decides about a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallVerdict {
    /// It runs, with these arguments.
    Run(JsonObject),
    /// It does not run; the model is told why.
    Block {
        /// The words for the model; a default when absent.
        reason: Option<String>,
        /// Whether the blocked call asks to end the run.
        terminate: bool,
    },
}

/// What a hook changes in a result; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultUpdate {
    pub content: Option<Vec<InputBlock>>,
    pub details: Option<Value>,
    /// Another verdict on whether the call failed.
    pub is_error: Option<bool>,
    pub usage: Option<Usage>,
    /// Another wish about ending the run.
    pub terminate: Option<bool>,
}

/// A tool call that has run, as a hook sees it.
#[derive(Clone)]
pub struct FinishedToolCall {
    /// The call with its checked arguments.
    pub pending: PendingToolCall,
    pub output: ToolOutput,
    pub is_error: bool,
}

impl FinishedToolCall {
    /// Lets a hook's changes take effect.
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

/// The application's part in the loop.
pub trait AgentHooks: Send + Sync {
    /// Called after `turn_end` when another turn follows.
    fn prepare_next_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        context: LoopContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LoopUpdate, HookError>> {
        let _ = (turn, context, cancel);
        ready(Ok(LoopUpdate::default()))
    }

    /// Called before every request, when its messages are in the transcript.
    fn prepare_request<'a>(
        &'a self,
        context: LoopContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LoopUpdate, HookError>> {
        let _ = (context, cancel);
        ready(Ok(LoopUpdate::default()))
    }

    /// Changes what one request is made of; the transcript stays.
    fn transform_context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        let _ = cancel;
        ready(Ok(messages))
    }

    /// Turns the transcript into what models understand; the default drops all other roles.
    fn convert_to_model(
        &self,
        messages: Vec<SharedMessage>,
    ) -> BoxFuture<'_, Result<Vec<Message>, HookError>> {
        ready(Ok(messages
            .iter()
            .filter_map(|message| model_message(message))
            .collect()))
    }

    /// Called before a call runs, when its arguments are checked. A failure is the call's result.
    fn before_tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolCallVerdict, HookError>> {
        let _ = cancel;
        ready(Ok(ToolCallVerdict::Run(call.arguments)))
    }

    /// Called after a call has run, before it is told. A failure is the call's result.
    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let _ = (call, cancel);
        ready(Ok(ToolResultUpdate::default()))
    }

    /// Called when a message is complete, before `message_end`: the place to store it. The returned
    /// message takes its place; of an answer, its calls are those that run. On a failure the message
    /// and what would follow leave the transcript, and the run ends.
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

/// The hooks of an agent without an application.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl AgentHooks for NoHooks {}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

/// Returns the message if it is of one of the roles that models understand.
pub fn model_message(message: &AgentMessage) -> Option<Message> {
    match message {
        AgentMessage::System(message) => Some(Message::System(message.clone())),
        AgentMessage::User(message) => Some(Message::User(message.clone())),
        AgentMessage::Assistant(message) => Some(Message::Assistant(message.clone())),
        AgentMessage::ToolResult(message) => Some(Message::ToolResult(message.clone())),
        _ => None,
    }
}
