//! A session as a pure state machine: `(state, input) → effects`.
//!
//! The machine owns the queue, the current activity and the selection of model and tools, and performs no I/O. It
//! decides when messages are delivered, when the model is called, when a failed turn is retried, when the context is
//! compacted and when the session settles. The conversation itself is owned by the store behind the driver. The driver
//! performs the effects in order and feeds their outcomes back; requests of clients may arrive at any time. Every
//! interleaving can therefore be tested without time, tasks or a model.
//!
//! [`Activity`] is the state of what is in progress, one component per kind: `preparation.rs` leads from a prompt to
//! its run, `run.rs` alternates between loops of turns (`turns.rs`, with the tool calls of a response in `batch.rs`)
//! and what follows them (`after_loop.rs`), `compaction.rs` is part of all of them. Outcomes go to the current
//! activity. [`Context`] is what all activities use.

mod activity;
mod after_loop;
mod batch;
mod compaction;
mod context;
mod effect;
mod input;
mod interrupt;
mod plan;
mod preparation;
mod requests;
mod retry;
mod run;
#[cfg(test)]
mod tests;
mod turns;

use pi_protocol::retry::RetryPolicy;
use pi_protocol::{
    ActivityKind, AgentMessage, BashExecutionMessage, LiveMessage, Request, SessionEvent,
    SharedMessage,
};

use activity::Activity;
pub use batch::CallOutcome;
pub(crate) use batch::DENIED_CALL;
use context::Context;
pub use context::Selection;
pub use effect::{
    AnswerError, CancelScope, CompactionJob, ContextCheck, Effect, OmitTarget, Rejection, Reply,
    RunFailure, RunTrigger,
};
pub use input::{
    ConversationTail, CustomDelivery, CustomInput, CustomMessageOptions, Input, Outcome,
    PreflightOutcome, PromptInput,
};
use preparation::{Preparation, PreparationEnd, Resumption};
use run::{Run, RunFlags};
use turns::TurnLoop;

use crate::queue::MessageQueue;
use crate::turn::ActivityOutcome;

/// A session's state and rules.
#[derive(Debug, Default)]
pub struct Machine {
    activity: Activity,
    context: Context,
    is_closed: bool,
}

impl Machine {
    pub fn new(selection: Selection) -> Self {
        Self {
            context: Context::new(selection),
            ..Self::default()
        }
    }

    /// Updates the time and the retry policy that the next steps use.
    pub fn configure(&mut self, now_ms: i64, retry_policy: RetryPolicy) {
        self.context.now_ms = now_ms;
        self.context.retry.policy = retry_policy;
    }

    /// Processes an input and returns the effects to perform.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        if self.is_closed && input.adds_work() {
            self.context.reject(Rejection::Closed);
            return self.context.take_effects();
        }
        match input {
            Input::Prompt(prompt) => self.prompt(prompt),
            Input::DeferPrompt(prompt) => self.defer_prompt(prompt),
            Input::Enqueue {
                message,
                text,
                delivery,
            } => self.enqueue(message, text, delivery),
            Input::SendCustom(custom) => self.send_custom(custom),
            Input::BashFinished(message) => self.bash_finished(message),
            Input::Answer { request, answer } => self.answer(request, answer),
            Input::ClearQueue => self.context.clear_queue(),
            Input::Abort => self.abort(),
            Input::Pause => {
                if let Activity::Running(run) = &mut self.activity {
                    run.pause();
                }
            }
            Input::Resume => {
                let resumption = Resumption::LastMessage;
                self.activity.resume(resumption, &mut self.context);
            }
            Input::ResumeTurn { begun } => {
                let resumption = Resumption::LastTurn { begun };
                self.activity.resume(resumption, &mut self.context);
            }
            Input::AbortRetry => self.cancel(CancelScope::Retry),
            Input::AbortCompaction => self.cancel(CancelScope::Compaction),
            Input::AbortNavigation => self.cancel(CancelScope::Navigation),
            Input::Compact => self.begin_compaction(),
            Input::Navigate => self.begin_navigation(),
            Input::Close => self.close(),
            Input::Outcome(outcome) => self.outcome(outcome),
        }
        self.context.take_effects()
    }

    /// Feeds the outcome of an effect to the activity it belongs to.
    fn outcome(&mut self, outcome: Outcome) {
        let cx = &mut self.context;
        match (&mut self.activity, outcome) {
            (Activity::Preparing(preparation), outcome) => preparation.outcome(outcome, cx),
            (Activity::Running(run), outcome) => run.outcome(outcome, cx),
            (Activity::Settling, Outcome::Continued | Outcome::Panicked(_))
            | (Activity::Navigating, Outcome::Navigated) => {
                self.activity = Activity::Idle;
                self.start_deferred();
            }
            (Activity::Resubmitting, Outcome::DeferredResolved(prompt)) => {
                self.deferred_resolved(prompt);
            }
            (Activity::Resubmitting, Outcome::Panicked(_)) => self.deferred_resolved(None),
            (Activity::Compacting(compaction), Outcome::Panicked(_)) => {
                compaction.panicked(cx);
                self.compaction_ended();
            }
            (Activity::Compacting(compaction), outcome) => {
                let ended = compaction.outcome(outcome, cx);
                if ended.is_some() {
                    self.compaction_ended();
                }
            }
            _ => {}
        }
        self.begin_next_activity();
    }

    /// Begins what follows a preparation or a run that is over.
    fn begin_next_activity(&mut self) {
        if !self.activity.is_over() {
            return;
        }
        let cx = &mut self.context;
        match std::mem::take(&mut self.activity) {
            Activity::Preparing(preparation) => match preparation.into_end(cx) {
                PreparationEnd::Run(run) => self.activity = Activity::Running(*run),
                PreparationEnd::DeliverQueued if !self.is_closed => {
                    self.activity = Activity::Preparing(Preparation::of_queue(cx));
                }
                PreparationEnd::DeliverQueued | PreparationEnd::Idle => self.start_deferred(),
            },
            over => {
                let aborted = matches!(over, Activity::Running(run) if run.flags().aborted);
                self.activity = Activity::Settling;
                cx.push(Effect::EndRun);
                if cx.selection.is_supervised {
                    cx.push(Effect::ConfirmSettled);
                }
                cx.push(Effect::Emit(SessionEvent::AgentSettled { aborted }));
                cx.push(Effect::Continue);
            }
        }
    }

    fn deferred_resolved(&mut self, prompt: Option<PromptInput>) {
        self.activity = Activity::Idle;
        match prompt {
            Some(_) if self.is_closed => self.context.reject(Rejection::Closed),
            Some(prompt) => self.prompt(prompt),
            None => self.start_deferred(),
        }
    }

    /// Clients may send a prompt as soon as they receive the end event, so the session is idle before it is published.
    fn compaction_ended(&mut self) {
        self.activity = Activity::Idle;
        self.context.reply(Reply::Done);
        self.start_deferred();
    }

    fn run(&self) -> Option<&Run> {
        match &self.activity {
            Activity::Running(run) => Some(run),
            _ => None,
        }
    }

    fn run_flags(&self) -> RunFlags {
        self.run().map(Run::flags).unwrap_or_default()
    }

    fn turns(&self) -> Option<&TurnLoop> {
        self.run().and_then(Run::turns)
    }

    /// Returns what the session is doing.
    pub fn activity(&self) -> ActivityKind {
        self.activity.kind()
    }

    /// Whether a compaction or a move in the tree is in progress.
    pub fn is_compacting(&self) -> bool {
        self.activity.is_compacting()
    }

    /// Whether the run is going to repeat a failed request and can still be kept from it.
    pub fn is_retrying(&self) -> bool {
        self.run().is_some_and(Run::is_retrying)
    }

    /// Returns the current attempt; 0 if there is none.
    pub fn retry_attempt(&self) -> u32 {
        self.context.retry.attempt()
    }

    /// Whether the run was aborted and is about to end.
    pub fn is_abort_requested(&self) -> bool {
        self.run_flags().aborted
    }

    /// Whether a message of the run could not be stored.
    pub fn has_storage_failed(&self) -> bool {
        self.run_flags().storage_failed
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub fn queue(&self) -> &MessageQueue {
        &self.context.queue
    }

    pub fn queue_mut(&mut self) -> &mut MessageQueue {
        &mut self.context.queue
    }

    pub fn selection(&self) -> &Selection {
        &self.context.selection
    }

    pub fn selection_mut(&mut self) -> &mut Selection {
        &mut self.context.selection
    }

    /// Returns the response being streamed.
    pub fn streaming(&self) -> Option<&LiveMessage> {
        self.turns().and_then(TurnLoop::streaming)
    }

    /// Returns the outcome of the last response.
    pub fn last_outcome(&self) -> ActivityOutcome {
        self.context.outcome
    }

    /// Returns the messages of extensions that wait for the end of the turn.
    pub fn waiting_custom(&self) -> impl Iterator<Item = &AgentMessage> {
        self.context.waiting.custom.iter()
    }

    /// Returns the results of shell commands that wait for the end of the run.
    pub fn waiting_bash(&self) -> impl Iterator<Item = &BashExecutionMessage> {
        self.context.waiting.bash.iter()
    }

    /// Returns the IDs of tool calls that have started and not finished.
    pub fn pending_calls(&self) -> Vec<String> {
        self.turns()
            .map(TurnLoop::open_call_ids)
            .unwrap_or_default()
    }

    /// Returns the requests that wait for the answer of a client, in call order.
    pub fn pending_requests(&self) -> Vec<Request> {
        self.turns()
            .map(TurnLoop::pending_requests)
            .unwrap_or_default()
    }

    /// Returns the response whose tool calls are running.
    pub fn running_response(&self) -> Option<SharedMessage> {
        self.turns().and_then(TurnLoop::running_response)
    }
}
