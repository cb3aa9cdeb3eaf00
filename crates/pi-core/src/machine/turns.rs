//! A loop of turns: request, response, tool calls, and the queues between them.

mod barrier;
mod calls;
mod failure;
mod requests;

pub(super) use barrier::resume_turn;

use std::sync::Arc;

use pi_protocol::{
    AgentEvent, AgentMessage, AssistantMessage, LiveMessage, RecoveryState, SessionEvent,
    SharedMessage, StopReason,
};

use super::batch::Batch;
use super::compaction::ContextCompaction;
use super::context::Context;
use super::effect::Effect;
use super::input::Outcome;
use super::plan::{Plan, PlanItem};
use super::run::RunFlags;
use crate::retry_end::RetryEnd;
use crate::turn::{ActivityOutcome, FinishedTurn, TurnDecision};

/// From `agent_start` to `agent_end`. A run may consist of several loops.
#[derive(Debug)]
pub(super) struct TurnLoop {
    phase: LoopPhase,
    /// What follows the current effect, unless the loop fails.
    plan: Plan,
    /// Messages recorded since `agent_start`.
    new_messages: Vec<SharedMessage>,
    /// The last response that is stored.
    last_response: Option<SharedMessage>,
    last_results: Vec<SharedMessage>,
    /// The loop is ending because of a failure; a further one changes nothing.
    is_failing: bool,
}

#[derive(Debug)]
enum LoopPhase {
    /// Recording the messages the loop starts with.
    Opening {
        skip_first_poll: bool,
    },
    Polling(PollPoint),
    /// The context is checked, and compacted if necessary, before the next turn.
    BetweenTurns {
        compaction: ContextCompaction,
        must_request: bool,
    },
    /// Recording the messages of a request, then sending it.
    Requesting,
    /// The model of the request is being chosen.
    Routing,
    /// The context is checked, and compacted if necessary, for the chosen model.
    FittingRoute(ContextCompaction),
    /// Waiting for the supervisor before the request.
    AtBarrier,
    /// Receiving a response; `None` until it starts.
    Streaming(Option<LiveMessage>),
    /// Recording a response.
    Responding,
    RunningTools {
        response: SharedMessage,
        batch: Batch,
        /// The batch is complete; its results are being recorded.
        complete: bool,
    },
    FinishingTurn {
        turn: FinishedTurn,
        outcome: TurnOutcome,
    },
    /// `turn_end` is being emitted and waiting messages are appended.
    EndingTurn(Option<PollPoint>),
    /// Recording the error message of a loop that failed.
    Failing,
    /// `agent_end` is being emitted.
    Ending,
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

/// A point where the queues are polled.
#[derive(Debug, Clone, Copy)]
enum PollPoint {
    LoopStart {
        skip: bool,
    },
    AfterTurn {
        calls_remain: bool,
        asked_to_continue: bool,
    },
}

/// What a loop leaves for the decision about what follows it.
#[derive(Debug)]
pub(super) struct LoopEnd {
    pub response: Option<SharedMessage>,
    pub tool_results: Vec<SharedMessage>,
}

impl TurnLoop {
    /// Begins a loop with messages of clients, each with the text to show if it returns to the queue, and with messages
    /// of hooks.
    pub(super) fn begin(
        first: Vec<(AgentMessage, Option<String>)>,
        added: Vec<AgentMessage>,
        cx: &mut Context,
    ) -> Self {
        let first = cx.queue.begin_opening(first);
        let records = first.into_iter().map(PlanItem::queued);
        let records = records.chain(added.into_iter().map(PlanItem::record));
        Self::open(Plan::new(records), false, cx)
    }

    /// Begins a loop with the messages taken from the queue. Without `poll_first`, the first request takes no more of
    /// them: a second poll would deliver two messages in one-at-a-time mode.
    pub(super) fn begin_with_queued(poll_first: bool, cx: &mut Context) -> Self {
        let queued = cx.queue.begin_delivery();
        let plan = Plan::new(queued.into_iter().map(PlanItem::queued));
        Self::open(plan, !poll_first, cx)
    }

    fn open(plan: Plan, skip_first_poll: bool, cx: &mut Context) -> Self {
        cx.emit(AgentEvent::AgentStart);
        cx.emit(AgentEvent::TurnStart);
        // A loop without new messages announces changes with its first request.
        let has_messages = !plan.is_empty();
        let mut turns = Self {
            phase: LoopPhase::Opening { skip_first_poll },
            plan,
            new_messages: Vec::new(),
            last_response: None,
            last_results: Vec::new(),
            is_failing: false,
        };
        if has_messages {
            cx.push(Effect::Compose);
        } else {
            turns.poll(
                PollPoint::LoopStart {
                    skip: skip_first_poll,
                },
                cx,
            );
        }
        turns
    }

    /// Processes the outcome of an effect; returns what the loop leaves once it is over.
    pub(super) fn outcome(
        &mut self,
        outcome: Outcome,
        flags: &mut RunFlags,
        cx: &mut Context,
    ) -> Option<LoopEnd> {
        match outcome {
            Outcome::Composed(system) => self.composed(system, *flags, cx),
            Outcome::Recorded(message) => self.recorded(message, flags, cx),
            Outcome::Appended => self.turn_ended(*flags, cx),
            Outcome::Continued => match self.phase {
                LoopPhase::Polling(point) => self.polled(point, *flags, cx),
                LoopPhase::EndingTurn(_) => self.turn_ended(*flags, cx),
                LoopPhase::Ending => return Some(self.take_end()),
                _ => {}
            },
            Outcome::Response(event) => self.response_event(event, *flags, cx),
            Outcome::Routed(route) => self.routed(route, *flags, cx),
            Outcome::BarrierPassed(proceeds) => self.barrier_passed(proceeds, flags, cx),
            Outcome::RequestFailed(error) => self.fail(error, *flags, cx),
            Outcome::Preflighted(outcome) => {
                let aborted = flags.aborted;
                self.batch_input(|batch| batch.preflighted(outcome, aborted), *flags, cx);
            }
            Outcome::ToolUpdated(index, partial) => self.tool_updated(index, partial, cx),
            Outcome::ToolFinished(index, outcome) => {
                let aborted = flags.aborted;
                self.batch_input(|batch| batch.finished(index, outcome, aborted), *flags, cx);
            }
            Outcome::Answered(request) => {
                let aborted = flags.aborted;
                let proceed = |batch: &mut Batch| batch.continue_answered(&request, aborted);
                self.batch_input(proceed, *flags, cx);
            }
            Outcome::TurnFinished(decision) => self.turn_finished(decision, cx),
            Outcome::Panicked(error) => return self.panicked(error, flags, cx),
            outcome => self.context_outcome(outcome, *flags, cx),
        }
        None
    }

    fn take_end(&mut self) -> LoopEnd {
        LoopEnd {
            response: self.last_response.take(),
            tool_results: std::mem::take(&mut self.last_results),
        }
    }

    fn advance(&mut self, flags: RunFlags, cx: &mut Context) {
        if self.plan.advance(cx) {
            self.plan_completed(flags, cx);
        }
    }

    /// Polls the queues after the hooks had the chance to fill them.
    fn poll(&mut self, point: PollPoint, cx: &mut Context) {
        self.phase = LoopPhase::Polling(point);
        cx.push(Effect::Continue);
    }

    fn plan_completed(&mut self, flags: RunFlags, cx: &mut Context) {
        match &self.phase {
            LoopPhase::Opening { skip_first_poll } => {
                let skip = *skip_first_poll;
                self.poll(PollPoint::LoopStart { skip }, cx);
            }
            LoopPhase::Requesting if cx.selection.is_virtual() => {
                self.phase = LoopPhase::Routing;
                cx.push(Effect::Route);
            }
            LoopPhase::Requesting => self.stream(cx),
            LoopPhase::RunningTools { complete: true, .. } => self.batch_completed(cx),
            LoopPhase::Failing => {
                if let Some(message) = self.new_messages.last().cloned() {
                    cx.emit(AgentEvent::TurnEnd {
                        message,
                        tool_results: Vec::new(),
                    });
                }
                self.end(flags, cx);
            }
            _ => {}
        }
    }

    fn recorded(
        &mut self,
        message: Result<SharedMessage, String>,
        flags: &mut RunFlags,
        cx: &mut Context,
    ) {
        let Some(recording) = self.plan.take_recording() else {
            return;
        };
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                flags.storage_failed = true;
                if !self.is_failing {
                    return self.fail(error, *flags, cx);
                }
                // The loop is already ending; its last message is still published.
                recording
            }
        };
        self.new_messages.push(Arc::clone(&message));
        cx.queue.finish_recording();
        let response = match &*message {
            AgentMessage::Assistant(response) => Some(Arc::clone(response)),
            _ => None,
        };
        if let Some(response) = &response {
            self.note_response(&message, response, *flags, cx);
        }
        cx.emit(AgentEvent::MessageEnd {
            message: Arc::clone(&message),
        });
        if response.is_some_and(|response| response.stop_reason != StopReason::Error) {
            cx.end_retry(RetryEnd::Succeeded);
        }
        if matches!(self.phase, LoopPhase::Responding) {
            self.after_response(message, *flags, cx);
        } else {
            self.advance(*flags, cx);
        }
    }

    fn note_response(
        &mut self,
        message: &SharedMessage,
        response: &AssistantMessage,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        cx.outcome = match response.stop_reason {
            StopReason::Aborted => ActivityOutcome::Aborted,
            StopReason::Error => ActivityOutcome::Error,
            _ => ActivityOutcome::Completed,
        };
        if !matches!(response.stop_reason, StopReason::Error | StopReason::Length) {
            cx.recovery = RecoveryState::NotAttempted;
        }
        if !flags.storage_failed {
            self.last_response = Some(Arc::clone(message));
        }
    }

    fn finish_turn(
        &mut self,
        message: SharedMessage,
        tool_results: Vec<SharedMessage>,
        outcome: TurnOutcome,
        cx: &mut Context,
    ) {
        let turn = FinishedTurn {
            message,
            tool_results,
        };
        cx.push(Effect::FinishTurn(turn.clone()));
        self.phase = LoopPhase::FinishingTurn { turn, outcome };
    }

    fn turn_finished(&mut self, decision: TurnDecision, cx: &mut Context) {
        let LoopPhase::FinishingTurn { turn, outcome } = &self.phase else {
            return;
        };
        self.last_results.clone_from(&turn.tool_results);
        cx.emit(AgentEvent::TurnEnd {
            message: Arc::clone(&turn.message),
            tool_results: turn.tool_results.clone(),
        });
        let next = (*outcome != TurnOutcome::Failed).then_some(PollPoint::AfterTurn {
            calls_remain: *outcome == TurnOutcome::CallsRemain,
            asked_to_continue: decision == TurnDecision::Continue,
        });
        self.phase = LoopPhase::EndingTurn(next);
        // Handlers of `turn_end` may still add messages to append here.
        cx.push(Effect::Continue);
    }

    /// Appends the messages that waited for the end of the turn, then continues.
    fn turn_ended(&mut self, flags: RunFlags, cx: &mut Context) {
        let LoopPhase::EndingTurn(next) = self.phase else {
            return;
        };
        if let Some(message) = cx.waiting.custom.pop_front() {
            return cx.push(Effect::Append(message));
        }
        match next {
            Some(point) if !flags.paused => self.poll(point, cx),
            _ => self.end(flags, cx),
        }
    }

    fn end(&mut self, flags: RunFlags, cx: &mut Context) {
        cx.queue.put_back();
        self.phase = LoopPhase::Ending;
        let messages = std::mem::take(&mut self.new_messages);
        let is_response =
            |message: &&SharedMessage| matches!(***message, AgentMessage::Assistant(_));
        let last = messages.iter().rev().find(is_response);
        let will_retry = !flags.must_end() && last.is_some_and(|message| cx.is_retry_due(message));
        cx.push(Effect::Emit(SessionEvent::AgentEnd {
            messages,
            will_retry,
        }));
        cx.push(Effect::Continue);
    }

    /// Whether a summary is being written between two turns, or before a routed request.
    pub(super) fn is_compacting(&self) -> bool {
        matches!(&self.phase, LoopPhase::BetweenTurns { compaction, .. }
            | LoopPhase::FittingRoute(compaction) if compaction.is_in_progress())
    }

    /// Returns the response being streamed.
    pub(super) fn streaming(&self) -> Option<&LiveMessage> {
        match &self.phase {
            LoopPhase::Streaming(message) => message.as_ref(),
            _ => None,
        }
    }
}
