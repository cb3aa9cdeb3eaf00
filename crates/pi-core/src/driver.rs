//! Performs the effects of the machine.
//!
//! A lane is the sequence of effects that follows one request. It performs them in order and feeds their outcomes
//! back. A request's lane runs in the caller's task until the reply; if it has become a run, the rest continues in a
//! separate task. Several lanes may be active at once: the run, and the requests of other clients and hooks.

mod backend;
mod control;
mod tools;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use tracing::{Instrument as _, Span};

pub use backend::{Backend, PreparedRun};
pub use control::{Control, SessionActivity};
use pi_protocol::{AgentEvent, SessionEvent};
use tools::RunningTools;

use crate::machine::{CancelScope, CompactionJob, Effect, Input, Outcome, Rejection, Reply};
use crate::prompt::Prompt;
use crate::request_phase::PhaseRelay;

/// The effects that follow one request.
pub struct Lane<B: Backend> {
    backend: B,
    effects: VecDeque<Effect>,
    tools: RunningTools<B>,
    error: Option<B::Error>,
    compaction: Option<B::Compaction>,
    /// The span of the current turn; disabled between turns.
    turn: Span,
}

impl<B: Backend> Lane<B> {
    /// Feeds a request to the machine. Nothing is performed until the lane is driven.
    pub fn new(backend: &B, input: Input) -> Self {
        Self {
            backend: backend.clone(),
            effects: backend.control().step(input).into(),
            tools: RunningTools::default(),
            error: None,
            compaction: None,
            turn: Span::none(),
        }
    }

    /// Performs effects up to the reply.
    pub async fn reply(&mut self) -> Reply {
        loop {
            match self.effects.pop_front() {
                Some(Effect::Reply(reply)) => return reply,
                Some(effect) => self.perform(effect).await,
                None => return Reply::Done,
            }
        }
    }

    /// Returns the error of a rejected prompt, or of a message that could not be appended.
    pub fn take_error(&mut self) -> Option<B::Error> {
        self.error.take()
    }

    /// Returns the result of the compaction this lane performed.
    pub fn take_compaction(&mut self) -> Option<B::Compaction> {
        self.compaction.take()
    }

    /// Performs the rest in a separate task, if there is any.
    pub fn detach(self) {
        if self.effects.is_empty() {
            return;
        }
        let backend = self.backend.clone();
        let span = backend.span();
        backend.control().spawn(self.complete().instrument(span));
    }

    /// Performs everything.
    pub async fn complete(mut self) {
        loop {
            match self.effects.pop_front() {
                Some(Effect::Reply(Reply::Rejected(rejection))) => {
                    let error = self.error.take();
                    self.backend.report_rejection(rejection, error);
                }
                Some(Effect::Reply(_)) => {}
                Some(effect) => self.perform_in_turn(effect).await,
                None if self.tools.is_empty() => return,
                None => {
                    for outcome in self.tools.next().await {
                        self.feed(outcome);
                    }
                }
            }
        }
    }

    fn feed(&mut self, outcome: Outcome) {
        let input = Input::Outcome(outcome);
        self.effects.extend(self.backend.control().step(input));
    }

    async fn perform_in_turn(&mut self, effect: Effect) {
        let (is_start, is_end) = match &effect {
            Effect::Emit(SessionEvent::Agent(event)) => (
                matches!(event, AgentEvent::TurnStart),
                matches!(event, AgentEvent::TurnEnd { .. }),
            ),
            _ => (false, false),
        };
        if is_start {
            self.turn = turn_span();
        }
        let turn = self.turn.clone();
        self.perform(effect).instrument(turn).await;
        if is_end {
            self.turn = Span::none();
        }
    }

    async fn perform(&mut self, effect: Effect) {
        let backend = self.backend.clone();
        match effect {
            Effect::Emit(event) => backend.emit(event).await,
            Effect::Publish(event) => backend.publish(event).await,
            Effect::PublishQueue => backend.publish_queue().await,
            // The step that returned a cancellation has performed it.
            Effect::Reply(_) | Effect::Cancel(_) => {}
            Effect::AwaitSettled(input) => {
                backend.control().wait_until_settled().await;
                self.effects.extend(backend.control().step(*input));
            }
            Effect::SubmitDeferred(prompt) => self.submit_deferred(*prompt).await,
            Effect::AppendNow(message) => self.error = backend.append(message).await.err(),
            Effect::EndCompaction(job) => self.end_compaction(job).await,
            Effect::FailRecovery(failure) => backend.recovery_failed(failure).await,
            Effect::Reload => backend.reload(),
            Effect::EndRun => backend.end_run(),
            Effect::Report(failure) => backend.report_failure(failure),
            Effect::Stream => self.stream().await,
            Effect::Execute {
                index,
                call,
                arguments,
            } => self.tools.start(&backend, index, call, arguments),
            waiting => {
                if let Some(outcome) = self.outcome_of(waiting).await {
                    self.feed(outcome);
                }
            }
        }
    }

    /// Performs an effect that has one outcome.
    async fn outcome_of(&mut self, effect: Effect) -> Option<Outcome> {
        let backend = self.backend.clone();
        Some(match effect {
            Effect::CheckPrompt => match backend.check_prompt().await {
                Ok(()) => Outcome::PromptChecked(true),
                Err(error) => {
                    self.error = Some(error);
                    Outcome::PromptChecked(false)
                }
            },
            Effect::PrepareRun { text, images } => {
                let PreparedRun { prompt, added } = backend.prepare_run(text, images).await;
                Outcome::RunPrepared { prompt, added }
            }
            Effect::Append(message) => {
                if let Err(error) = backend.append(message).await {
                    backend.report_rejection(Rejection::CheckFailed, Some(error));
                }
                Outcome::Appended
            }
            Effect::Compose => Outcome::Composed(backend.compose().map_err(|error| error.0)),
            Effect::Record(message) => {
                let recorded = backend.record(message).await;
                Outcome::Recorded(recorded.map_err(|error| error.0))
            }
            Effect::Continue => Outcome::Continued,
            Effect::Preflight(call) => Outcome::Preflighted(tools::preflight(&backend, call).await),
            Effect::FinishTurn(turn) => Outcome::TurnFinished(backend.finish_turn(turn).await),
            Effect::CheckContext(check) => Outcome::ContextChecked(backend.check_context(check)),
            Effect::Omit(target) => Outcome::Omitted(backend.omit(target).await),
            Effect::PlanCompaction => Outcome::CompactionPlanned(backend.plan_compaction()),
            Effect::Compact(job) => Outcome::Compacted(self.compact(job).await),
            Effect::Sleep(delay) => {
                let token = backend.control().begin(CancelScope::Retry);
                let slept = token.run_until_cancelled(tokio::time::sleep(delay)).await;
                Outcome::Slept(slept.is_some())
            }
            Effect::ReadTail => Outcome::TailRead(backend.read_tail()),
            Effect::BeforeSettle => Outcome::SettleDecided(backend.before_settle().await),
            _ => return None,
        })
    }

    async fn compact(&mut self, job: CompactionJob) -> bool {
        let backend = self.backend.clone();
        let token = backend.control().begin(CancelScope::Compaction);
        let (compaction, stored) = backend.compact(job, token).await;
        self.compaction = Some(compaction);
        stored
    }

    async fn end_compaction(&mut self, job: CompactionJob) {
        if let Some(compaction) = self.compaction.take() {
            let backend = self.backend.clone();
            self.compaction = Some(backend.compaction_ended(job, compaction).await);
        }
    }

    async fn submit_deferred(&mut self, prompt: Prompt) {
        let backend = self.backend.clone();
        let resolved = backend.resolve_prompt(prompt).await;
        let resolved = resolved.unwrap_or_else(|error| {
            backend.report_rejection(Rejection::CheckFailed, Some(error));
            None
        });
        self.feed(Outcome::DeferredResolved(resolved));
    }

    async fn stream(&mut self) {
        let backend = self.backend.clone();
        let cancel = backend.control().begin(CancelScope::Run);
        let mut response = match backend.stream(cancel).await {
            Ok(response) => response,
            Err(error) => return self.feed(Outcome::RequestFailed(error.0)),
        };
        let mut phases = PhaseRelay::new(backend.control().request_phase_sender(), &response);
        loop {
            let event = tokio::select! {
                biased;
                event = response.next() => event,
                () = phases.changed() => {
                    phases.catch_up();
                    continue;
                }
            };
            // Publish the new phase before the event that started it.
            phases.catch_up();
            let Some(event) = event else { break };
            let effects = backend
                .control()
                .step(Input::Outcome(Outcome::Response(event)));
            for effect in effects {
                match effect {
                    // Process events immediately, so a fast model cannot get ahead of its observers.
                    Effect::Emit(event) => backend.emit(event).await,
                    later => self.effects.push_back(later),
                }
            }
        }
    }
}

/// Starts the span of a turn. Its ID is unique in the process, because sessions share a log.
fn turn_span() -> Span {
    static NEXT_TURN: AtomicU64 = AtomicU64::new(1);
    let span = tracing::info_span!("turn", id = NEXT_TURN.fetch_add(1, Ordering::Relaxed));
    span.in_scope(|| tracing::debug!("turn started"));
    span
}
