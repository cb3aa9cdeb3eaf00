//! Scripted responses, built step by step.

use std::future::Future;

use futures_util::future::BoxFuture;
use pi_protocol::{
    AssistantBlock, DeferredHandle, ProviderError, StopReason, TextContent, ThinkingContent,
    ToolCall,
};
use serde_json::Value;

use super::gate::FauxGate;
use crate::options::ModelRequest;

/// The request that a response factory receives.
#[derive(Debug, Clone)]
pub struct FauxCall {
    pub request: ModelRequest,
    /// Number of the call, starting at 1.
    pub number: usize,
}

/// A scripted response: blocks, pauses and failures in order, and its outcome.
///
/// A block stays open until the next block or the end of the response, so a gate or failure after a
/// block occurs while it is open, as in a real stream.
#[derive(Debug, Default)]
pub struct FauxResponse {
    pub(super) steps: Vec<ResponseStep>,
    pub(super) end: ResponseEnd,
}

/// Outcome of a response after all steps.
#[derive(Debug, Default)]
pub(super) struct ResponseEnd {
    /// Defaults to `toolUse` after tool calls and `stop` otherwise.
    pub stop_reason: Option<StopReason>,
    pub response_id: Option<String>,
    pub deferred: Option<DeferredHandle>,
}

pub(super) enum ResponseStep {
    /// Emits the start event before there is any content.
    Start,
    Block(AssistantBlock),
    Wait(FauxGate),
    Fail(ProviderError),
    Stall,
    /// Replaces the rest of the response with the factory's response.
    ResponseFactory(ResponseFactory),
}

type ResponseFactory = Box<dyn FnOnce(FauxCall) -> BoxFuture<'static, FauxResponse> + Send>;

impl std::fmt::Debug for ResponseStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start => formatter.write_str("Start"),
            Self::Block(block) => formatter.debug_tuple("Block").field(block).finish(),
            Self::Wait(_) => formatter.write_str("Wait"),
            Self::Fail(error) => formatter.debug_tuple("Fail").field(error).finish(),
            Self::Stall => formatter.write_str("Stall"),
            Self::ResponseFactory(_) => formatter.write_str("ResponseFactory"),
        }
    }
}

impl From<&str> for FauxResponse {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl FauxResponse {
    /// Creates an empty response to chain steps onto.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates a response that emits its start event first.
    pub fn started() -> Self {
        Self::empty().then(ResponseStep::Start)
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().then_text(text)
    }

    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::empty().then_thinking(thinking)
    }

    pub fn tool_call(name: impl Into<String>, arguments: Value) -> Self {
        Self::empty().then_tool_call(name, arguments)
    }

    /// Fails before the start event, like a rejected request.
    pub fn error(error: ProviderError) -> Self {
        Self::empty().then_fail(error)
    }

    /// Stalls before the start event until the request is canceled.
    pub fn stall() -> Self {
        Self::empty().then_stall()
    }

    /// Waits at a gate before the start event.
    pub fn after(gate: &FauxGate) -> Self {
        Self::empty().wait_for(gate)
    }

    /// Defers the response.
    pub fn deferred(handle: DeferredHandle) -> Self {
        let mut response = Self::started().stop(StopReason::Deferred);
        response.end.deferred = Some(handle);
        response
    }

    /// Creates the response from the request.
    pub fn from_fn(make: impl FnOnce(&FauxCall) -> Self + Send + 'static) -> Self {
        Self::from_async_fn(move |call| std::future::ready(make(&call)))
    }

    /// Creates the response from the request asynchronously.
    pub fn from_async_fn<MakeFuture>(
        make: impl FnOnce(FauxCall) -> MakeFuture + Send + 'static,
    ) -> Self
    where
        MakeFuture: Future<Output = Self> + Send + 'static,
    {
        Self::empty().then(ResponseStep::ResponseFactory(Box::new(|call| {
            Box::pin(make(call))
        })))
    }

    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Self {
        self.then_block(AssistantBlock::Text(TextContent::new(text)))
    }

    #[must_use]
    pub fn then_thinking(self, thinking: impl Into<String>) -> Self {
        self.then_block(AssistantBlock::Thinking(ThinkingContent {
            thinking: thinking.into(),
            ..ThinkingContent::default()
        }))
    }

    /// Adds a tool call with the ID `faux_<request>_<block>`.
    #[must_use]
    pub fn then_tool_call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.then_tool_call_with_id("", name, arguments)
    }

    /// Adds a tool call with the given ID. Arguments other than an object are treated as empty.
    #[must_use]
    pub fn then_tool_call_with_id(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Value,
    ) -> Self {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => pi_protocol::json::JsonObject::new(),
        };
        self.then_block(AssistantBlock::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
            ..ToolCall::default()
        }))
    }

    /// Adds a block unchanged, including signatures.
    #[must_use]
    pub fn then_block(self, block: AssistantBlock) -> Self {
        self.then(ResponseStep::Block(block))
    }

    #[must_use]
    pub fn wait_for(self, gate: &FauxGate) -> Self {
        self.then(ResponseStep::Wait(gate.clone()))
    }

    /// Fails at this point.
    #[must_use]
    pub fn then_fail(self, error: ProviderError) -> Self {
        self.then(ResponseStep::Fail(error))
    }

    /// Loses the connection at this point.
    #[must_use]
    pub fn then_disconnect(self) -> Self {
        self.then_fail(ProviderError::network("The connection was lost"))
    }

    /// Stalls at this point until the request is canceled.
    #[must_use]
    pub fn then_stall(self) -> Self {
        self.then(ResponseStep::Stall)
    }

    /// Sets the stop reason; by default it is `toolUse` after tool calls and `stop` otherwise.
    #[must_use]
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.end.stop_reason = Some(reason);
        self
    }

    #[must_use]
    pub fn response_id(mut self, id: impl Into<String>) -> Self {
        self.end.response_id = Some(id.into());
        self
    }

    fn then(mut self, step: ResponseStep) -> Self {
        self.steps.push(step);
        self
    }
}
