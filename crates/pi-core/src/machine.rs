//! A session as a pure state machine: `(state, input) → effects`.
//!
//! The machine owns the queue, the current activity and the selection of model and tools, and performs no I/O. It
//! decides when messages are delivered, when the model is called, when a failed turn is retried, when the context is
//! compacted and when the session settles. The conversation itself is owned by the store behind the driver. The driver
//! performs the effects in order and feeds their outcomes back; requests of clients may arrive at any time. Every
//! interleaving can therefore be tested without time, tasks or a model.

mod activity;
mod batch;
mod crash;
mod effect;
mod input;
mod interrupt;
mod prompt;
mod recovery;
mod settle;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::VecDeque;
use std::sync::Arc;

use pi_context::RecoveryState;
use pi_protocol::retry::RetryPolicy;
use pi_protocol::{AgentMessage, BashExecutionMessage, LiveMessage, Model, ThinkingLevel};
use pi_providers::ScopedModel;

pub use activity::ActivityKind;
use activity::{Activity, Preparation, PreparationStep, Run};
pub use batch::CallOutcome;
pub use effect::{
    CancelScope, CompactionJob, ContextCheck, Effect, OmitTarget, Rejection, Reply, RunFailure,
};
pub use input::{
    ConversationTail, CustomDelivery, CustomInput, CustomMessageOptions, Input, Outcome,
    PreflightOutcome, PromptInput,
};

use crate::event::SharedMessage;
use crate::prompt::Prompt;
use crate::queue::MessageQueue;
use crate::tool::ExecutionMode;
use crate::turn::ActivityOutcome;

/// A session's state and rules.
#[derive(Debug, Default)]
pub struct Machine {
    selection: Selection,
    queue: MessageQueue,
    activity: Activity,
    /// Messages to send with the next prompt.
    next_turn: Vec<AgentMessage>,
    waiting: WaitingMessages,
    /// Requests made while the session was settling or compacting.
    deferred: VecDeque<Deferred>,
    /// The response being streamed.
    streaming: Option<LiveMessage>,
    retry_policy: RetryPolicy,
    /// The attempt in progress; 0 if the last turn did not fail.
    retry_attempt: u32,
    recovery: RecoveryState,
    outcome: ActivityOutcome,
    is_closed: bool,
    now_ms: i64,
}

/// What the next request uses.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `None` until a model is selected.
    pub model: Option<Arc<Model>>,
    /// Reasoning effort for requests.
    pub thinking_level: ThinkingLevel,
    /// The models to cycle through; if empty, all available ones.
    pub scoped_models: Vec<ScopedModel>,
    /// Names of the tools the model may call.
    pub active_tools: Vec<String>,
    /// Those of the active tools that must run alone.
    pub sequential_tools: Vec<String>,
    /// Whether the tool calls of one response run in parallel.
    pub execution_mode: ExecutionMode,
}

/// Messages that wait for a point where they do not separate a tool call from its result.
#[derive(Debug, Default)]
struct WaitingMessages {
    /// For the end of the turn.
    custom: VecDeque<AgentMessage>,
    /// For the end of the run.
    bash: VecDeque<BashExecutionMessage>,
}

impl WaitingMessages {
    fn pop(&mut self) -> Option<AgentMessage> {
        let bash = self.bash.pop_front().map(AgentMessage::BashExecution);
        bash.or_else(|| self.custom.pop_front())
    }
}

/// A request to fulfill once the session is idle.
#[derive(Debug)]
enum Deferred {
    Prompt(Prompt),
    Message(AgentMessage),
}

/// Outcome of a turn, as far as the next step of the loop depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnOutcome {
    /// The model stopped, or its tools requested the end of the run.
    NoCalls,
    /// Tool results are waiting to be sent to the model.
    CallsRemain,
    /// The request failed or was canceled.
    Failed,
}

impl Machine {
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }

    /// Updates the time and the retry policy that the next steps use.
    pub fn configure(&mut self, now_ms: i64, retry_policy: RetryPolicy) {
        self.now_ms = now_ms;
        self.retry_policy = retry_policy;
    }

    /// Processes an input and returns the effects to perform.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Prompt(prompt) => self.prompt(prompt, &mut effects),
            Input::DeferPrompt(prompt) => self.defer_prompt(prompt, &mut effects),
            Input::Enqueue {
                message,
                text,
                delivery,
            } => self.enqueue(message, text, delivery, &mut effects),
            Input::SendCustom(custom) => self.send_custom(custom, &mut effects),
            Input::BashFinished(message) => self.bash_finished(message, &mut effects),
            Input::ClearQueue => self.clear_queue(&mut effects),
            Input::Abort => self.abort(&mut effects),
            Input::AbortRetry => self.abort_retry(&mut effects),
            Input::AbortCompaction => self.abort_compaction(&mut effects),
            Input::AbortNavigation => self.abort_navigation(&mut effects),
            Input::Compact => self.begin_compaction(&mut effects),
            Input::Navigate => self.begin_navigation(&mut effects),
            Input::Close => self.close(&mut effects),
            Input::Outcome(outcome) => self.outcome(outcome, &mut effects),
        }
        effects
    }

    fn outcome(&mut self, outcome: Outcome, effects: &mut Vec<Effect>) {
        match outcome {
            Outcome::PromptChecked(passed) => self.prompt_checked(passed, effects),
            Outcome::RunPrepared { prompt, added } => self.run_prepared(prompt, added, effects),
            Outcome::Appended => self.appended(effects),
            Outcome::Composed(system) => self.composed(system, effects),
            Outcome::Recorded(message) => self.recorded(message, effects),
            Outcome::Continued => self.continued(effects),
            Outcome::Response(event) => self.response_event(event, effects),
            Outcome::RequestFailed(error) => self.fail(error, effects),
            Outcome::Preflighted(outcome) => {
                self.batch_input(
                    |batch, aborted| batch.preflighted(outcome, aborted),
                    effects,
                );
            }
            Outcome::ToolUpdated(index, partial) => self.tool_updated(index, partial, effects),
            Outcome::ToolFinished(index, outcome) => {
                let feed =
                    |batch: &mut batch::Batch, aborted| batch.finished(index, outcome, aborted);
                self.batch_input(feed, effects);
            }
            Outcome::TurnFinished(decision) => self.turn_finished(decision, effects),
            Outcome::ContextChecked(decision) => self.context_checked(decision, effects),
            Outcome::Omitted(done) => self.omitted(done, effects),
            Outcome::CompactionPlanned(possible) => self.compaction_planned(possible, effects),
            Outcome::Compacted(stored) => self.compacted(stored, effects),
            Outcome::Slept(completed) => self.slept(completed, effects),
            Outcome::TailRead(tail) => self.tail_read(tail, effects),
            Outcome::SettleDecided(proceed) => self.settle_decided(proceed, effects),
            Outcome::DeferredResolved(prompt) => self.deferred_resolved(prompt, effects),
            Outcome::Navigated => self.navigated(effects),
            Outcome::Panicked(error) => self.panicked(error, effects),
        }
    }

    fn run(&self) -> Option<&Run> {
        match &self.activity {
            Activity::Running(run) => Some(run),
            _ => None,
        }
    }

    fn run_mut(&mut self) -> Option<&mut Run> {
        match &mut self.activity {
            Activity::Running(run) => Some(run),
            _ => None,
        }
    }

    fn is_aborted(&self) -> bool {
        self.run().is_some_and(|run| run.aborted)
    }

    /// Returns what the session is doing.
    pub fn activity(&self) -> ActivityKind {
        match &self.activity {
            Activity::Idle => ActivityKind::Idle,
            Activity::Preparing(_) | Activity::Resubmitting => ActivityKind::Preparing,
            Activity::Running(_) => ActivityKind::Running,
            Activity::Settling => ActivityKind::Settling,
            Activity::Compacting(_) => ActivityKind::Compacting,
            Activity::Navigating => ActivityKind::Navigating,
        }
    }

    /// Whether a compaction or a move in the tree is in progress.
    pub fn is_compacting(&self) -> bool {
        match &self.activity {
            Activity::Compacting(_) | Activity::Navigating => true,
            Activity::Preparing(Preparation { step, .. }) => {
                matches!(step, PreparationStep::Compacting(_))
            }
            Activity::Running(run) => run.compaction().is_some(),
            _ => false,
        }
    }

    /// Whether the run is going to repeat a failed request and can still be kept from it.
    pub fn is_retrying(&self) -> bool {
        self.run().is_some_and(Run::is_retrying)
    }

    /// Returns the current attempt; 0 if there is none.
    pub fn retry_attempt(&self) -> u32 {
        self.retry_attempt
    }

    /// Whether the run was aborted and is about to end.
    pub fn is_abort_requested(&self) -> bool {
        self.is_aborted()
    }

    /// Whether a message of the run could not be stored.
    pub fn has_storage_failed(&self) -> bool {
        self.run().is_some_and(|run| run.storage_failed)
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    pub fn queue_mut(&mut self) -> &mut MessageQueue {
        &mut self.queue
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    pub fn selection_mut(&mut self) -> &mut Selection {
        &mut self.selection
    }

    pub fn streaming(&self) -> Option<&LiveMessage> {
        self.streaming.as_ref()
    }

    /// Returns the outcome of the last response.
    pub fn last_outcome(&self) -> ActivityOutcome {
        self.outcome
    }

    /// Returns the messages of extensions that wait for the end of the turn.
    pub fn waiting_custom(&self) -> impl Iterator<Item = &AgentMessage> {
        self.waiting.custom.iter()
    }

    /// Whether results of shell commands wait for the end of the run.
    pub fn has_waiting_bash(&self) -> bool {
        !self.waiting.bash.is_empty()
    }

    /// Returns the IDs of tool calls that have started and not finished.
    pub fn pending_calls(&self) -> Vec<String> {
        self.run().map(Run::open_call_ids).unwrap_or_default()
    }

    /// Returns the response whose tool calls are running.
    pub fn running_response(&self) -> Option<SharedMessage> {
        self.run().and_then(Run::running_response)
    }
}
