//! The loop as a pure state machine: `(state, input) → effects`.
//!
//! The machine owns the transcript, the queues and the phase of the run, and performs no I/O. The
//! driver ([`crate::driver`]) performs the effects in order and feeds their outcomes back; callers
//! may feed steering, follow-ups and aborts at any time. Every interleaving can therefore be tested
//! without time, tasks or a model.

mod batch;
mod effect;
mod input;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use batch::CallOutcome;
pub(crate) use effect::Effect;
pub(crate) use input::{ContextUpdate, MachineInput, PreflightOutcome};
pub(crate) use state::{Machine, ToolSpec};

use batch::{Batch, BatchAction, BatchStep};
use pi_protocol::transcript::{ToolChanges, active_tools};
use pi_protocol::{
    AgentMessage, AssistantMessage, AssistantMessageEvent, StopReason, SystemMessage,
};
use state::{Phase, PollPoint, RunData};

use crate::error::AgentError;
use crate::event::{AgentEvent, SharedMessage};
use crate::tool::ToolOutput;
use crate::turn::{FinishedTurn, TurnDecision};

impl Machine {
    /// Starts a run with the given messages. The caller performs the returned effects.
    pub(crate) fn prompt(
        &mut self,
        messages: Vec<AgentMessage>,
    ) -> Result<Vec<Effect>, AgentError> {
        self.require_idle()?;
        Ok(self.begin(messages, false))
    }

    /// Starts a run from the current transcript, or from queued messages if the transcript ends
    /// with a model response.
    pub(crate) fn resume(&mut self) -> Result<Vec<Effect>, AgentError> {
        self.require_idle()?;
        let has_conversation = self
            .transcript
            .iter()
            .any(|message| !matches!(**message, AgentMessage::System(_)));
        if !has_conversation {
            return Err(AgentError::NothingToContinue);
        }
        if !matches!(
            self.transcript.last().map(Arc::as_ref),
            Some(AgentMessage::Assistant(_))
        ) {
            return Ok(self.begin(Vec::new(), false));
        }
        let steering = self.steering.drain();
        if !steering.is_empty() {
            // These were just drained; a second poll would deliver two in one-at-a-time mode.
            return Ok(self.begin(steering, true));
        }
        let follow_ups = self.follow_ups.drain();
        if follow_ups.is_empty() {
            return Err(AgentError::AlreadyAnswered);
        }
        Ok(self.begin(follow_ups, false))
    }

    fn require_idle(&self) -> Result<(), AgentError> {
        if matches!(self.phase, Phase::Idle) {
            Ok(())
        } else {
            Err(AgentError::Busy)
        }
    }

    fn begin(&mut self, messages: Vec<AgentMessage>, skip_first_poll: bool) -> Vec<Effect> {
        self.run = RunData::default();
        self.error_message = None;
        let mut effects = vec![
            Effect::Emit(AgentEvent::AgentStart),
            Effect::Emit(AgentEvent::TurnStart),
        ];
        // A continuation adds no messages, so tool changes wait for the first request.
        if !messages.is_empty() {
            let messages = self.with_tool_changes(messages);
            self.append_all(messages, &mut effects);
        }
        self.phase = Phase::Polling(PollPoint::RunStart {
            skip: skip_first_poll,
        });
        effects.push(Effect::Resume);
        effects
    }

    /// Processes an input and returns the effects to perform.
    pub(crate) fn step(&mut self, input: MachineInput) -> Vec<Effect> {
        match input {
            MachineInput::Steer(message) => {
                self.steering.push(message);
                Vec::new()
            }
            MachineInput::FollowUp(message) => {
                self.follow_ups.push(message);
                Vec::new()
            }
            MachineInput::Abort => {
                self.run.aborted = true;
                Vec::new()
            }
            MachineInput::Failed(error) => self.fail(error),
            MachineInput::MessageReplaced { old, new } => self.message_replaced(&old, new),
            MachineInput::MessageRejected { message, error } => {
                self.message_rejected(&message, error)
            }
            MachineInput::Resumed => self.resumed(),
            MachineInput::NextTurnPrepared(update) => self.next_turn_prepared(update),
            MachineInput::RequestPrepared(update) => self.request_prepared(update),
            MachineInput::Stream(event) => self.stream_event(event),
            MachineInput::Preflighted(outcome) => {
                self.batch_input(|batch, aborted| batch.preflighted(outcome, aborted))
            }
            MachineInput::ToolUpdated(index, partial) => self.tool_updated(index, partial),
            MachineInput::ToolFinished(index, outcome) => {
                self.batch_input(|batch, aborted| batch.finished(index, outcome, aborted))
            }
            MachineInput::TurnFinished(decision) => self.turn_finished(decision),
            MachineInput::Settled => {
                self.phase = Phase::Idle;
                Vec::new()
            }
        }
    }

    fn resumed(&mut self) -> Vec<Effect> {
        let Phase::Polling(point) = self.phase else {
            return Vec::new();
        };
        match point {
            PollPoint::RunStart { skip } => {
                let pending = if skip {
                    Vec::new()
                } else {
                    self.steering.drain()
                };
                self.request(pending)
            }
            PollPoint::AfterTurn {
                calls_remain,
                asked_to_continue,
            } => {
                self.run.pending = self.steering.drain();
                if !calls_remain && self.run.pending.is_empty() {
                    self.run.pending = self.follow_ups.drain();
                    if self.run.pending.is_empty() && !asked_to_continue {
                        return self.end();
                    }
                }
                self.phase = Phase::PreparingNextTurn;
                vec![Effect::PrepareNextTurn]
            }
        }
    }

    fn next_turn_prepared(&mut self, update: ContextUpdate) -> Vec<Effect> {
        if !matches!(self.phase, Phase::PreparingNextTurn) {
            return Vec::new();
        }
        let prepared = self.apply(update);
        // Preparing may take long (a compaction, for example); messages steered in the meantime
        // belong to this turn. A second poll after a successful first would deliver two in
        // one-at-a-time mode.
        if self.run.pending.is_empty() {
            self.run.pending = self.steering.drain();
        }
        let pending = std::mem::take(&mut self.run.pending);
        let mut effects = vec![Effect::Emit(AgentEvent::TurnStart)];
        effects.extend(self.request(prepared.into_iter().chain(pending).collect()));
        effects
    }

    fn request(&mut self, messages: Vec<AgentMessage>) -> Vec<Effect> {
        let messages = self.with_tool_changes(messages);
        let mut effects = Vec::new();
        self.append_all(messages, &mut effects);
        self.phase = Phase::PreparingRequest;
        effects.push(Effect::PrepareRequest);
        effects
    }

    fn request_prepared(&mut self, update: ContextUpdate) -> Vec<Effect> {
        if !matches!(self.phase, Phase::PreparingRequest) {
            return Vec::new();
        }
        let extra = self.apply(update);
        let mut effects = Vec::new();
        self.append_all(extra, &mut effects);
        self.phase = Phase::Streaming { started: false };
        effects.push(Effect::Stream);
        effects
    }

    fn stream_event(&mut self, event: AssistantMessageEvent) -> Vec<Effect> {
        let Phase::Streaming { started } = self.phase else {
            return Vec::new();
        };
        if let Some(message) = event.final_message() {
            return self.response_finished(message, started);
        }
        if let AssistantMessageEvent::Start { message } = event {
            self.phase = Phase::Streaming { started: true };
            let first = Arc::new(AgentMessage::from(message.snapshot()));
            self.streaming = Some(message);
            return vec![Effect::Emit(AgentEvent::MessageStart { message: first })];
        }
        match &self.streaming {
            Some(message) => vec![Effect::Emit(AgentEvent::MessageUpdate {
                message: message.clone(),
                assistant_message_event: event,
            })],
            None => Vec::new(),
        }
    }

    fn response_finished(
        &mut self,
        response: &Arc<AssistantMessage>,
        started: bool,
    ) -> Vec<Effect> {
        self.streaming = None;
        let mut effects = Vec::new();
        let message = Arc::new(AgentMessage::Assistant(Arc::clone(response)));
        if !started {
            effects.push(Effect::Emit(AgentEvent::MessageStart {
                message: Arc::clone(&message),
            }));
        }
        self.transcript.push(Arc::clone(&message));
        self.run.new_messages.push(Arc::clone(&message));
        effects.push(Effect::Emit(AgentEvent::MessageEnd {
            message: Arc::clone(&message),
        }));
        effects.extend(self.after_response(message));
        effects
    }

    /// Acts on a response once it is in the transcript: runs its tool calls or finishes the turn.
    fn after_response(&mut self, message: SharedMessage) -> Vec<Effect> {
        let AgentMessage::Assistant(response) = &*message else {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls);
        };
        if response.stop_reason.is_failure() {
            return self.finish_turn(message, Vec::new(), TurnOutcome::Failed);
        }
        let calls: Vec<_> = response.tool_calls().cloned().collect();
        if calls.is_empty() {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls);
        }
        let mut batch = Batch::new(calls, self.batch_mode(response));
        let step = if response.stop_reason == StopReason::Length {
            batch.fail_all(TRUNCATED_CALL)
        } else {
            batch.start()
        };
        self.phase = Phase::RunningTools {
            response: message,
            batch,
        };
        self.after_batch_step(step)
    }

    /// Replaces a message. If it is the response of the current turn, its tool calls replace those
    /// of the old one.
    fn message_replaced(&mut self, old: &SharedMessage, new: SharedMessage) -> Vec<Effect> {
        replace_message(&mut self.transcript, old, &new);
        replace_message(&mut self.run.new_messages, old, &new);
        let is_current_response = match &mut self.phase {
            Phase::RunningTools { response, .. } => Arc::ptr_eq(response, old),
            Phase::FinishingTurn { turn, .. } => {
                turn.replace(old, &new);
                Arc::ptr_eq(&turn.message, &new)
            }
            _ => false,
        };
        if is_current_response {
            self.after_response(new)
        } else {
            Vec::new()
        }
    }

    fn message_rejected(&mut self, message: &SharedMessage, error: String) -> Vec<Effect> {
        if matches!(self.phase, Phase::Idle | Phase::Ending) {
            return Vec::new();
        }
        let place = self
            .transcript
            .iter()
            .rposition(|one| Arc::ptr_eq(one, message));
        if let Some(place) = place {
            self.transcript.truncate(place);
        }
        self.fail(error)
    }

    fn batch_mode(&self, response: &AssistantMessage) -> crate::tool::ExecutionMode {
        use crate::tool::ExecutionMode::{Parallel, Sequential};
        let one_is_sequential = response.tool_calls().any(|call| {
            self.tools
                .iter()
                .any(|tool| tool.declaration.name == call.name && tool.mode == Sequential)
        });
        if self.execution_mode == Sequential || one_is_sequential {
            Sequential
        } else {
            Parallel
        }
    }

    fn batch_input(&mut self, feed: impl FnOnce(&mut Batch, bool) -> BatchStep) -> Vec<Effect> {
        let aborted = self.run.aborted;
        let Phase::RunningTools { batch, .. } = &mut self.phase else {
            return Vec::new();
        };
        let step = feed(batch, aborted);
        self.after_batch_step(step)
    }

    fn tool_updated(&mut self, index: usize, partial: ToolOutput) -> Vec<Effect> {
        let Phase::RunningTools { batch, .. } = &self.phase else {
            return Vec::new();
        };
        batch
            .update_event(index, partial)
            .map(Effect::Emit)
            .into_iter()
            .collect()
    }

    fn after_batch_step(&mut self, step: BatchStep) -> Vec<Effect> {
        let mut effects = Vec::new();
        for action in step.actions {
            match action {
                BatchAction::Do(effect) => effects.push(effect),
                BatchAction::AddResult(result) => {
                    let message = AgentMessage::from(result.into_message(self.now_ms()));
                    self.append_shared(Arc::new(message), &mut effects);
                }
            }
        }
        if !step.complete {
            return effects;
        }
        let Phase::RunningTools { response, batch } =
            std::mem::replace(&mut self.phase, Phase::Idle)
        else {
            return effects;
        };
        let outcome = if batch.requests_termination() {
            TurnOutcome::NoCalls
        } else {
            TurnOutcome::CallsRemain
        };
        let results = self.results_since(&response);
        effects.extend(self.finish_turn(response, results, outcome));
        effects
    }

    fn results_since(&self, response: &SharedMessage) -> Vec<SharedMessage> {
        let place = self
            .run
            .new_messages
            .iter()
            .rposition(|message| Arc::ptr_eq(message, response));
        let from = place.map_or(self.run.new_messages.len(), |place| place + 1);
        self.run
            .new_messages
            .get(from..)
            .map(<[_]>::to_vec)
            .unwrap_or_default()
    }

    fn finish_turn(
        &mut self,
        message: SharedMessage,
        tool_results: Vec<SharedMessage>,
        outcome: TurnOutcome,
    ) -> Vec<Effect> {
        let turn = FinishedTurn {
            message,
            tool_results,
            new_messages: self.run.new_messages.clone(),
        };
        self.phase = Phase::FinishingTurn {
            turn: turn.clone(),
            outcome,
        };
        vec![Effect::FinishTurn(turn)]
    }

    fn turn_finished(&mut self, decision: TurnDecision) -> Vec<Effect> {
        let Phase::FinishingTurn { turn, outcome } =
            std::mem::replace(&mut self.phase, Phase::Idle)
        else {
            return Vec::new();
        };
        if let AgentMessage::Assistant(response) = &*turn.message {
            self.error_message.clone_from(&response.error_message);
        }
        let mut effects = vec![Effect::Emit(AgentEvent::TurnEnd {
            message: Arc::clone(&turn.message),
            tool_results: turn.tool_results.clone(),
        })];
        self.run.last_turn = Some(turn);
        if matches!(outcome, TurnOutcome::Failed) || decision == TurnDecision::End {
            effects.extend(self.end());
            return effects;
        }
        self.phase = Phase::Polling(PollPoint::AfterTurn {
            calls_remain: matches!(outcome, TurnOutcome::CallsRemain),
            asked_to_continue: decision == TurnDecision::Continue,
        });
        effects.push(Effect::Resume);
        effects
    }

    fn end(&mut self) -> Vec<Effect> {
        self.phase = Phase::Ending;
        let messages = std::mem::take(&mut self.run.new_messages);
        vec![
            Effect::Emit(AgentEvent::AgentEnd { messages }),
            Effect::Finish,
        ]
    }

    /// Ends the run with an error message. Only hooks cause such failures.
    fn fail(&mut self, error: String) -> Vec<Effect> {
        if matches!(self.phase, Phase::Idle | Phase::Ending) {
            return Vec::new();
        }
        self.streaming = None;
        let reason = if self.run.aborted {
            StopReason::Aborted
        } else {
            StopReason::Error
        };
        let message = Arc::new(AgentMessage::from(AssistantMessage {
            content: vec![pi_protocol::AssistantBlock::text("")],
            api: self.model.api.clone(),
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            stop_reason: reason,
            error_message: Some(error.clone()),
            timestamp: self.now_ms(),
            ..AssistantMessage::default()
        }));
        self.error_message = Some(error);
        let mut effects = Vec::new();
        self.append_shared(Arc::clone(&message), &mut effects);
        effects.push(Effect::Emit(AgentEvent::TurnEnd {
            message: Arc::clone(&message),
            tool_results: Vec::new(),
        }));
        self.run.new_messages = vec![message];
        effects.extend(self.end());
        effects
    }

    fn apply(&mut self, update: ContextUpdate) -> Vec<AgentMessage> {
        if let Some(transcript) = update.transcript {
            self.transcript = transcript;
        }
        if let Some(tools) = update.tools {
            self.tools = tools;
        }
        if let Some(model) = update.model {
            self.model = model;
        }
        if let Some(level) = update.thinking_level {
            self.thinking_level = level;
        }
        update.messages
    }

    fn append_all(&mut self, messages: Vec<AgentMessage>, effects: &mut Vec<Effect>) {
        for message in messages {
            self.append_shared(Arc::new(message), effects);
        }
    }

    fn append_shared(&mut self, message: SharedMessage, effects: &mut Vec<Effect>) {
        effects.push(Effect::Emit(AgentEvent::MessageStart {
            message: Arc::clone(&message),
        }));
        effects.push(Effect::Emit(AgentEvent::MessageEnd {
            message: Arc::clone(&message),
        }));
        self.transcript.push(Arc::clone(&message));
        self.run.new_messages.push(message);
    }

    /// Announces the difference between the available tools and the tools the transcript declares:
    /// on the last pending system message if there is one, otherwise on a new system message before
    /// the first other message.
    fn with_tool_changes(&self, mut pending: Vec<AgentMessage>) -> Vec<AgentMessage> {
        let carrier = pending
            .iter()
            .rposition(|message| matches!(message, AgentMessage::System(_)));
        let declared = self
            .transcript
            .iter()
            .map(Arc::as_ref)
            .chain(
                pending
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| Some(*place) != carrier)
                    .map(|(_, message)| message),
            )
            .filter_map(|message| match message {
                AgentMessage::System(system) => Some(&**system),
                _ => None,
            });
        let runnable = self.tools.iter().map(|tool| &tool.declaration);
        let changes = ToolChanges::between(&active_tools(declared), &runnable.collect::<Vec<_>>());
        match carrier.and_then(|place| pending.get_mut(place)) {
            Some(AgentMessage::System(system)) => set_tool_changes(Arc::make_mut(system), changes),
            _ if changes.is_empty() => {}
            _ => {
                let mut update = SystemMessage {
                    content: "".into(),
                    timestamp: self.now_ms(),
                    ..SystemMessage::default()
                };
                set_tool_changes(&mut update, changes);
                let place = pending
                    .iter()
                    .position(|message| !matches!(message, AgentMessage::System(_)))
                    .unwrap_or(pending.len());
                pending.insert(place, update.into());
            }
        }
        pending
    }
}

fn replace_message(messages: &mut [SharedMessage], old: &SharedMessage, new: &SharedMessage) {
    for message in messages {
        if Arc::ptr_eq(message, old) {
            *message = Arc::clone(new);
        }
    }
}

/// Result of calls in a response that was cut off by the output limit.
const TRUNCATED_CALL: &str = "This call was not run: the response reached its output limit, so the \
     arguments may be incomplete. Repeat the call with complete arguments.";

fn set_tool_changes(system: &mut SystemMessage, changes: ToolChanges) {
    system.tools_added = (!changes.added.is_empty()).then_some(changes.added);
    system.tools_removed = (!changes.removed.is_empty()).then_some(changes.removed);
}

/// Outcome of a turn, as far as the next step of the loop depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnOutcome {
    /// The model stopped, or its tools requested the end of the run.
    NoCalls,
    /// Tool results are waiting to be sent to the model.
    CallsRemain,
    /// The request failed or was canceled.
    Failed,
}
