//! What the driver needs from a session: its store, its hooks, its models and its tools.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_protocol::{
    AgentMessage, Answer, CompactionDecision, RecoveryFailure, Request, SessionEvent,
    SharedMessage, ThinkingLevel, ToolCall,
};
use pi_stream::AssistantStream;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::control::Control;
use crate::barrier::{BarrierPoint, OpenTurn};
use crate::error::HookError;
use crate::machine::{
    CompactionJob, ContextCheck, ConversationTail, OmitTarget, PromptInput, Rejection, RunFailure,
    RunTrigger,
};
use crate::prompt::Prompt;
use crate::tool::{Tool, ToolContext};
use crate::tool_call::{FinishedToolCall, PendingToolCall, ReviewedToolCall, ToolResultUpdate};
use crate::turn::{FinishedTurn, TurnDecision};

/// The first messages of a run.
#[derive(Debug)]
pub struct PreparedRun {
    /// The message that starts the run.
    pub prompt: AgentMessage,
    /// Messages of the start hooks.
    pub added: Vec<AgentMessage>,
}

/// The components of a session that perform its effects.
///
/// A handle: clones refer to the same session.
pub trait Backend: Clone + Send + Sync + 'static {
    /// Why a prompt was rejected or a message could not be stored.
    type Error: Send + 'static;
    /// The result of a compaction.
    type Compaction: Send + 'static;

    fn control(&self) -> &Control;

    /// Returns the span that names the session in log lines.
    fn span(&self) -> Span;

    /// Lets the part of a lane that the caller waits for see the task-locals of the caller.
    fn in_context_of_caller<T: Send + 'static>(
        &self,
        work: BoxFuture<'static, T>,
    ) -> BoxFuture<'static, T> {
        work
    }

    /// Whether the caller expects a request to be performed up to its first wait when it is submitted, as JavaScript
    /// does. That is possible while the session has no other lane. Its thread may block.
    fn starts_at_once(&self) -> bool {
        false
    }

    /// Reports that a hook, a tool or the backend panicked. What it belonged to ends; the session stays usable.
    ///
    /// Whether a process survives a panic is its own decision: one that exits does so in its panic hook, before the
    /// stack unwinds, or here.
    fn on_panic(&self, message: &str);

    /// Lets the hooks process an event.
    fn run_event_hooks<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()>;

    fn publish(&self, event: SessionEvent) -> BoxFuture<'_, ()>;

    /// Publishes the queue as it is when its turn to publish has come, so that the last event is never outdated.
    fn publish_queue(&self) -> BoxFuture<'_, ()>;

    /// Runs the command in a prompt, or its input hooks and expansion; `None` if that completed it.
    fn resolve_prompt(
        &self,
        prompt: Prompt,
    ) -> BoxFuture<'_, Result<Option<PromptInput>, Self::Error>>;

    fn check_prompt(&self) -> BoxFuture<'_, Result<(), Self::Error>>;

    fn prepare_run(&self, trigger: RunTrigger) -> BoxFuture<'_, PreparedRun>;

    /// Stores a message outside of a turn and publishes it.
    fn append(&self, message: AgentMessage) -> BoxFuture<'_, Result<(), Self::Error>>;

    /// Returns the system message that announces changes of prompt and tools.
    fn compose(&self) -> BoxFuture<'_, Result<Option<AgentMessage>, HookError>>;

    /// Lets the hooks replace a message, then stores it.
    fn record(&self, message: SharedMessage) -> BoxFuture<'_, Result<SharedMessage, HookError>>;

    /// Chooses the model that answers the next request of a virtual model.
    fn route(&self, _cancel: CancellationToken) -> BoxFuture<'_, Result<(), HookError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Waits for the supervisor of a session whose machine has barriers. Returns whether the run proceeds.
    fn wait_at_barrier(&self, _point: BarrierPoint) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Returns the thinking level of the next request.
    fn thinking_level(&self) -> ThinkingLevel {
        self.control().machine().selection().thinking_level
    }

    /// Starts a request with the current conversation.
    fn stream(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<AssistantStream, HookError>>;

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Returns a tool that other tools may call.
    fn callable_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tool(name)
    }

    /// Asks the clients whether a nested call may run. Dropping the future withdraws the question.
    fn ask_approval(&self, _request: Request) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Cancelled))
    }

    /// Returns what a call of this session receives.
    fn tool_context(&self, call: &ToolCall) -> ToolContext;

    /// Decides about a call whose arguments are valid, and may change them.
    fn before_tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>>;

    /// Returns changes of a call's result.
    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>>;

    fn finish_turn(&self, turn: FinishedTurn) -> BoxFuture<'_, TurnDecision>;

    fn check_context(&self, check: ContextCheck) -> CompactionDecision;

    /// Omits entries from the context. Returns false, and reports the failure, if that is not possible.
    fn omit(&self, target: OmitTarget) -> BoxFuture<'_, bool>;

    /// Returns whether there is anything to compact.
    fn plan_compaction(&self) -> bool;

    /// Compacts, and returns the result and whether a summary is stored.
    fn compact(
        &self,
        job: CompactionJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, (Self::Compaction, bool)>;

    /// Returns the result of a compaction that panicked.
    fn crashed_compaction(&self) -> Self::Compaction;

    /// Publishes the result of a compaction.
    fn compaction_ended(
        &self,
        job: CompactionJob,
        compaction: Self::Compaction,
    ) -> BoxFuture<'_, Self::Compaction>;

    /// Publishes that a response failed again after the context was compacted.
    fn recovery_failed(&self, failure: RecoveryFailure) -> BoxFuture<'_, ()>;

    fn read_tail(&self) -> ConversationTail;

    /// Returns the last turn, unless other messages follow it. The calls in `begun` have started before. A backend whose
    /// runs do not outlive its process has none.
    fn read_open_turn(&self, _begun: &[String]) -> Option<OpenTurn> {
        None
    }

    /// Returns whether a hook wants another turn.
    fn before_settle(&self) -> BoxFuture<'_, bool>;

    /// Reloads the conversation from the store.
    fn reload(&self);

    /// Forgets what hooks set for the run.
    fn end_run(&self);

    fn report_failure(&self, failure: RunFailure);

    /// Reports that a deferred prompt was rejected, or that a waiting message could not be stored.
    fn report_rejection(&self, rejection: Rejection, error: Option<Self::Error>);
}
