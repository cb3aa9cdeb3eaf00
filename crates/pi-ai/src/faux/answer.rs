//! What a scripted answer says and does, step by step.

use std::future::Future;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::gate::FauxGate;
use crate::content::{AssistantBlock, TextContent, ThinkingContent, ToolCall};
use crate::error::ProviderError;
use crate::message::DeferredHandle;
use crate::options::ModelRequest;
use crate::stop_reason::StopReason;

/// What a factory sees of the request it answers.
#[derive(Debug, Clone)]
pub struct FauxCall {
    /// The request: model, messages, options.
    pub request: ModelRequest,
    /// The number of the call, the first being 1.
    pub number: usize,
}

/// A scripted answer: blocks, pauses and faults in order, and how it ends.
///
/// A block ends when the next begins or the answer does, so that a gate or a fault after a block
/// finds it open, as a real stream would be.
#[derive(Debug, Default)]
pub struct FauxResponse {
    pub(super) steps: Vec<Step>,
    pub(super) ending: Ending,
}

/// How an answer ends when all its steps are done.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// `toolUse` if there are calls, else `stop`, when not given.
    pub stop_reason: Option<StopReason>,
    pub response_id: Option<String>,
    pub deferred: Option<DeferredHandle>,
}

/// One step of an answer.
pub(super) enum Step {
    /// Tells of the start before there is content.
    Start,
    Block(AssistantBlock),
    Wait(FauxGate),
    Fail(ProviderError),
    Stall,
    /// Goes on with the answer that a factory makes.
    Factory(Factory),
}

type Factory = Box<dyn FnOnce(FauxCall) -> BoxFuture<'static, FauxResponse> + Send>;

impl std::fmt::Debug for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start => formatter.write_str("Start"),
            Self::Block(block) => formatter.debug_tuple("Block").field(block).finish(),
            Self::Wait(_) => formatter.write_str("Wait"),
            Self::Fail(error) => formatter.debug_tuple("Fail").field(error).finish(),
            Self::Stall => formatter.write_str("Stall"),
            Self::Factory(_) => formatter.write_str("Factory"),
        }
    }
}

impl From<&str> for FauxResponse {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl FauxResponse {
    /// Answers with nothing at all; the beginning of a chain.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Tells of the start and goes on with what is chained.
    pub fn started() -> Self {
        Self::empty().then(Step::Start)
    }

    /// Answers with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().then_text(text)
    }

    /// Answers with thinking.
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::empty().then_thinking(thinking)
    }

    /// Answers with a tool call.
    pub fn tool_call(name: impl Into<String>, arguments: Value) -> Self {
        Self::empty().then_tool_call(name, arguments)
    }

    /// Fails before the start, as a refused request does.
    pub fn error(error: ProviderError) -> Self {
        Self::empty().then_fail(error)
    }

    /// Waits before the start until the request is cancelled.
    pub fn stall() -> Self {
        Self::empty().then_stall()
    }

    /// Waits at a gate before the start.
    pub fn after(gate: &FauxGate) -> Self {
        Self::empty().wait_for(gate)
    }

    /// Promises the answer for later.
    pub fn deferred(handle: DeferredHandle) -> Self {
        let mut answer = Self::started().stop(StopReason::Deferred);
        answer.ending.deferred = Some(handle);
        answer
    }

    /// Answers with what a function makes of the request.
    pub fn from_fn(make: impl FnOnce(&FauxCall) -> Self + Send + 'static) -> Self {
        Self::from_async_fn(move |call| std::future::ready(make(&call)))
    }

    /// Answers with what an asynchronous function makes of the request.
    pub fn from_async_fn<Making>(make: impl FnOnce(FauxCall) -> Making + Send + 'static) -> Self
    where
        Making: Future<Output = Self> + Send + 'static,
    {
        Self::empty().then(Step::Factory(Box::new(|call| Box::pin(make(call)))))
    }

    /// Adds a text block.
    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Self {
        self.then_block(AssistantBlock::Text(TextContent::new(text)))
    }

    /// Adds a thinking block.
    #[must_use]
    pub fn then_thinking(self, thinking: impl Into<String>) -> Self {
        self.then_block(AssistantBlock::Thinking(ThinkingContent {
            thinking: thinking.into(),
            ..ThinkingContent::default()
        }))
    }

    /// Adds a tool call; its id tells the number of the request and of the block.
    #[must_use]
    pub fn then_tool_call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.then_tool_call_with_id("", name, arguments)
    }

    /// Adds a tool call with an id. Arguments that are no object count as none.
    #[must_use]
    pub fn then_tool_call_with_id(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Value,
    ) -> Self {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => crate::json::JsonObject::new(),
        };
        self.then_block(AssistantBlock::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
            ..ToolCall::default()
        }))
    }

    /// Adds a block as it is, signatures included.
    #[must_use]
    pub fn then_block(self, block: AssistantBlock) -> Self {
        self.then(Step::Block(block))
    }

    /// Waits at a gate.
    #[must_use]
    pub fn wait_for(self, gate: &FauxGate) -> Self {
        self.then(Step::Wait(gate.clone()))
    }

    /// Fails here.
    #[must_use]
    pub fn then_fail(self, error: ProviderError) -> Self {
        self.then(Step::Fail(error))
    }

    /// Loses the connection here.
    #[must_use]
    pub fn then_disconnect(self) -> Self {
        self.then_fail(ProviderError::network("The connection was lost"))
    }

    /// Falls silent here until the request is cancelled.
    #[must_use]
    pub fn then_stall(self) -> Self {
        self.then(Step::Stall)
    }

    /// Sets the stop reason; by default it is `toolUse` after tool calls and `stop` otherwise.
    #[must_use]
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.ending.stop_reason = Some(reason);
        self
    }

    /// Sets the id of the response.
    #[must_use]
    pub fn response_id(mut self, id: impl Into<String>) -> Self {
        self.ending.response_id = Some(id.into());
        self
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}
