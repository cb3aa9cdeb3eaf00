//! Performs the effects of the machine.
//!
//! A lane is the sequence of effects that follows one request. It runs apart from its caller, performs the effects in
//! order and feeds their outcomes back. The caller waits for the reply only, and may stop waiting at any time. Several
//! lanes may be active at once: the run, and the requests of other clients and hooks. They share a task (`lanes`).
//!
//! Hooks and backends run third-party code. A panic in it ends what the effect belongs to, never the lane.

mod backend;
mod control;
mod duration;
mod lanes;
mod nested;
mod reply;
mod tools;

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{FutureExt as _, StreamExt as _};
use tracing::{Instrument as _, Span};

pub use backend::{Backend, PreparedRun};
pub use control::Control;
use duration::RequestStart;
pub(crate) use duration::elapsed_ms;
use lanes::LaneStart;
pub use nested::run_nested_call;
use pi_protocol::{AgentEvent, SessionEvent};
pub use reply::{LaneReply, PendingReply};
use reply::{Replier, ReplyRelease};
use tools::RunningTools;

use crate::barrier::BarrierPoint;
use crate::machine::{CancelScope, CompactionJob, Effect, Input, Outcome, Rejection, Reply};
use crate::prompt::Prompt;
use crate::request_phase::PhaseRelay;

/// Feeds a request to the machine, and performs what follows in the task of the session.
///
/// The machine has processed the request when this returns, whether or not the caller waits for the reply.
pub fn submit<B: Backend>(backend: &B, input: Input) -> PendingReply<B> {
    let (replier, pending) = reply::channel();
    let mut lane = Lane {
        backend: backend.clone(),
        effects: backend.control().step(input).into(),
        tools: RunningTools::default(),
        error: None,
        compaction: None,
        panic: None,
        turn: Span::none(),
    };
    if lane.effects.is_empty() {
        // No task: nothing is left to do, and requests without effects are also made while a runtime shuts down.
        drop(lane.send(replier, Reply::Done));
        return pending;
    }
    let span = backend.span();
    let replying = backend.in_context_of_caller(Box::pin(async move {
        let release = lane.reply(replier).await;
        (lane, release)
    }));
    let running = async move {
        let (lane, release) = replying.await;
        release.wait().await;
        lane.complete().await;
    };
    let start = if backend.starts_at_once() {
        LaneStart::AtOnce
    } else {
        LaneStart::InTask
    };
    let lanes = &backend.control().lanes;
    lanes.spawn(running.instrument(span), start);
    pending
}

/// The effects that follow one request.
struct Lane<B: Backend> {
    backend: B,
    effects: VecDeque<Effect>,
    tools: RunningTools<B>,
    error: Option<B::Error>,
    compaction: Option<B::Compaction>,
    /// A panic that ends what this lane continues, once the effects before it are performed.
    panic: Option<String>,
    /// The span of the current turn; disabled between turns.
    turn: Span,
}

impl<B: Backend> Lane<B> {
    /// Performs effects up to the reply.
    async fn reply(&mut self, replier: Replier<B>) -> ReplyRelease {
        loop {
            match self.effects.pop_front() {
                Some(Effect::Reply(reply)) => return self.send(replier, reply),
                Some(effect) => self.perform_caught(effect).await,
                None if self.panic.is_some() => self.feed_panic(),
                None => return self.send(replier, Reply::Done),
            }
        }
    }

    fn send(&mut self, replier: Replier<B>, reply: Reply) -> ReplyRelease {
        let (error, compaction) = (self.error.take(), self.compaction.take());
        match replier.send(reply, error, compaction) {
            Ok(release) => release,
            Err(unread) => {
                if let Reply::Rejected(rejection) = unread.reply {
                    self.backend.report_rejection(rejection, unread.error);
                }
                ReplyRelease::released()
            }
        }
    }

    /// Performs what follows the reply.
    async fn complete(mut self) {
        loop {
            match self.effects.pop_front() {
                Some(Effect::Reply(Reply::Rejected(rejection))) => {
                    let error = self.error.take();
                    self.backend.report_rejection(rejection, error);
                }
                Some(Effect::Reply(_)) => {}
                Some(effect) => self.perform_caught(effect).await,
                None if self.panic.is_some() => self.feed_panic(),
                None if self.tools.is_empty() => return,
                None => {
                    let backend = self.backend.clone();
                    for outcome in self.tools.next(&backend).await {
                        self.feed(outcome);
                    }
                }
            }
        }
    }

    /// Performs an effect. After a panic, the remaining effects are still performed, except those whose outcome would
    /// continue what the panic ends.
    async fn perform_caught(&mut self, effect: Effect) {
        let is_append = matches!(effect, Effect::AppendNow(_));
        let has_outcome = is_awaited(&effect);
        let performing = AssertUnwindSafe(self.perform_in_turn(effect));
        let Err(panic) = performing.catch_unwind().await else {
            return;
        };
        let message = self.report_panic(&*panic);
        if is_append {
            // The message may not be stored, so the request is not acknowledged.
            self.effects
                .retain(|effect| !matches!(effect, Effect::Reply(_)));
            let rejection = Reply::Rejected(Rejection::Crashed);
            self.effects.push_front(Effect::Reply(rejection));
        }
        if has_outcome || !self.tools.is_empty() || self.effects.iter().any(is_awaited) {
            self.effects.retain(|effect| !is_awaited(effect));
            self.tools = RunningTools::default();
            self.panic = Some(message);
        }
    }

    fn report_panic(&self, panic: &(dyn Any + Send)) -> String {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        tracing::error!(panic = text, "an effect panicked");
        self.backend.on_panic(text);
        format!("Internal error: a hook or the session panicked: {text}")
    }

    fn feed_panic(&mut self) {
        if let Some(message) = self.panic.take() {
            self.feed(Outcome::Panicked(message));
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
            Effect::Emit(event) => emit(&backend, event).await,
            Effect::Publish(event) => backend.publish(event).await,
            Effect::PublishQueue => backend.publish_queue().await,
            // The step that returned a cancellation or a resolution has performed it.
            Effect::Reply(_) | Effect::Cancel(_) | Effect::Resolve(_) => {}
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
            Effect::ConfirmSettled => {
                backend.wait_at_barrier(BarrierPoint::Settled).await;
            }
            Effect::Report(failure) => backend.report_failure(failure),
            Effect::Ask(request) => {
                self.tools.ask(&backend, request.id.clone());
                let event = SessionEvent::ApprovalRequested { request };
                backend.publish(event).await;
            }
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
            Effect::PrepareRun(trigger) => {
                let PreparedRun { prompt, added } = backend.prepare_run(trigger).await;
                Outcome::RunPrepared { prompt, added }
            }
            Effect::Append(message) => {
                if let Err(error) = backend.append(message).await {
                    backend.report_rejection(Rejection::CheckFailed, Some(error));
                }
                Outcome::Appended
            }
            Effect::Compose => Outcome::Composed(backend.compose().await.map_err(|error| error.0)),
            Effect::Record(message) => {
                let recorded = backend.record(message).await;
                Outcome::Recorded(recorded.map_err(|error| error.0))
            }
            Effect::Continue => Outcome::Continued,
            Effect::Route => {
                let token = backend.control().begin(CancelScope::Run);
                let routed = backend.route(token).await;
                Outcome::Routed(routed.map_err(|error| error.0))
            }
            Effect::Barrier(point) => {
                let token = backend.control().begin(CancelScope::Run);
                let waiting = backend.wait_at_barrier(point);
                // An aborted run stores how it ended, as it does without a barrier.
                let proceeds = token.run_until_cancelled(waiting).await;
                Outcome::BarrierPassed(proceeds.unwrap_or(true))
            }
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
            Effect::ReadOpenTurn { begun } => Outcome::OpenTurnRead(backend.read_open_turn(&begun)),
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
        let backend = self.backend.clone();
        let compaction = self.compaction.take();
        let compaction = compaction.unwrap_or_else(|| backend.crashed_compaction());
        self.compaction = Some(backend.compaction_ended(job, compaction).await);
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
        let request = RequestStart::now(backend.thinking_level());
        let mut response = match backend.stream(cancel).await {
            Ok(response) => response,
            Err(error) => return self.feed(Outcome::RequestFailed(error.0)),
        };
        let completion = request.of_stream(&response);
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
            let Some(mut event) = event else { break };
            completion.complete(&mut event);
            let effects = backend
                .control()
                .step(Input::Outcome(Outcome::Response(event)));
            for effect in effects {
                match effect {
                    // Process events immediately, so a fast model cannot get ahead of its observers.
                    Effect::Emit(event) => emit(&backend, event).await,
                    later => self.effects.push_back(later),
                }
            }
        }
    }
}

/// Whether the machine waits for an outcome of the effect.
fn is_awaited(effect: &Effect) -> bool {
    effect.has_outcome() || matches!(effect, Effect::Execute { .. } | Effect::Ask(_))
}

/// Lets the hooks process an event, then publishes it, even if a hook panics.
async fn emit<B: Backend>(backend: &B, event: SessionEvent) {
    let processing = AssertUnwindSafe(backend.run_event_hooks(&event)).catch_unwind();
    let processed = processing.await;
    backend.publish(event).await;
    if let Err(panic) = processed {
        std::panic::resume_unwind(panic);
    }
}

/// Starts the span of a turn. Its ID is unique in the process, because sessions share a log.
fn turn_span() -> Span {
    static NEXT_TURN: AtomicU64 = AtomicU64::new(1);
    let span = tracing::info_span!("turn", id = NEXT_TURN.fetch_add(1, Ordering::Relaxed));
    span.in_scope(|| tracing::debug!("turn started"));
    span
}
