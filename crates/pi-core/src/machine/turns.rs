//! The turns of a run: request, response, tool calls, and the queues between them.

use std::sync::Arc;

use pi_context::{CompactionDecision, RecoveryState};
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageEvent, StopReason,
};

use super::activity::{BetweenTurnsStep, PlanItem, PollPoint, Run, RunPhase};
use super::batch::{Batch, BatchAction, BatchStep};
use super::effect::{CompactionJob, ContextCheck, Effect};
use super::prompt::start_compaction;
use super::{Machine, TurnOutcome};
use crate::event::{AgentEvent, SharedMessage};
use crate::queue::Queued;
use crate::session_event::SessionEvent;
use crate::tool::{ExecutionMode, ToolOutput};
use crate::turn::{ActivityOutcome, FinishedTurn, TurnDecision};

/// Result of calls in a response that was cut off by the output limit.
const TRUNCATED_CALL: &str = "This call was not run: the response reached its output limit, so the \
     arguments may be incomplete. Repeat the call with complete arguments.";

impl Machine {
    /// Begins a loop with messages of clients, each with the text to show if it returns to the queue, and with messages
    /// of hooks.
    pub(super) fn begin_loop(
        &mut self,
        first: Vec<(AgentMessage, Option<String>)>,
        added: Vec<AgentMessage>,
        effects: &mut Vec<Effect>,
    ) {
        let mut records = records_of(self.queue.begin_opening(first));
        records.extend(added.into_iter().map(|message| PlanItem::Record {
            message: Arc::new(message),
            queued: None,
            started: false,
        }));
        self.open_loop(records, false, effects);
    }

    /// Begins a loop with messages of the queue. Without `poll_first`, the first request takes no more of them: a
    /// second poll would deliver two messages in one-at-a-time mode.
    pub(super) fn begin_loop_with_queued(&mut self, poll_first: bool, effects: &mut Vec<Effect>) {
        let queued = self.queue.begin_delivery();
        self.open_loop(records_of(queued), !poll_first, effects);
    }

    fn open_loop(
        &mut self,
        records: Vec<PlanItem>,
        skip_first_poll: bool,
        effects: &mut Vec<Effect>,
    ) {
        let Some(run) = self.run_mut() else { return };
        run.new_messages = Vec::new();
        run.last_response = None;
        run.last_results = Vec::new();
        run.failing = false;
        run.phase = RunPhase::Opening { skip_first_poll };
        effects.push(emit(AgentEvent::AgentStart));
        effects.push(emit(AgentEvent::TurnStart));
        // A loop without new messages announces changes with its first request.
        let has_messages = !records.is_empty();
        run.plan = records.into();
        if has_messages {
            effects.push(Effect::Compose);
        } else {
            self.advance(effects);
        }
    }

    /// Performs the plan up to the next effect with an outcome.
    fn advance(&mut self, effects: &mut Vec<Effect>) {
        loop {
            let Some(run) = self.run_mut() else { return };
            match run.plan.pop_front() {
                Some(PlanItem::Effect(effect)) => {
                    let waits = matches!(effect, Effect::Preflight(_));
                    effects.push(effect);
                    if waits {
                        return;
                    }
                }
                Some(PlanItem::Record {
                    message,
                    queued,
                    started,
                }) => {
                    run.recording = Some(Arc::clone(&message));
                    if let Some(id) = queued
                        && self.queue.start_recording(id)
                    {
                        effects.push(Effect::PublishQueue);
                    }
                    if !started {
                        if matches!(*message, AgentMessage::User(_)) {
                            self.recovery = RecoveryState::NotAttempted;
                        }
                        effects.push(emit(AgentEvent::MessageStart {
                            message: Arc::clone(&message),
                        }));
                    }
                    effects.push(Effect::Record(message));
                    return;
                }
                None => return self.plan_completed(effects),
            }
        }
    }

    fn plan_completed(&mut self, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        match &run.phase {
            RunPhase::Opening { skip_first_poll } => {
                run.phase = RunPhase::Polling(PollPoint::LoopStart {
                    skip: *skip_first_poll,
                });
                effects.push(Effect::Continue);
            }
            RunPhase::Requesting => {
                run.phase = RunPhase::Streaming { started: false };
                effects.push(Effect::Stream);
            }
            RunPhase::RunningTools { complete: true, .. } => self.batch_completed(effects),
            RunPhase::Failing => {
                if let Some(message) = run.new_messages.last().cloned() {
                    effects.push(emit(AgentEvent::TurnEnd {
                        message,
                        tool_results: Vec::new(),
                    }));
                }
                self.end_loop(effects);
            }
            _ => {}
        }
    }

    pub(super) fn composed(
        &mut self,
        system: Result<Option<AgentMessage>, String>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(run) = self.run_mut() else { return };
        if !matches!(run.phase, RunPhase::Opening { .. } | RunPhase::Requesting) {
            return;
        }
        match system {
            Ok(system) => {
                if let Some(system) = system {
                    run.plan.push_front(PlanItem::Record {
                        message: Arc::new(system),
                        queued: None,
                        started: false,
                    });
                }
                self.advance(effects);
            }
            // The messages of the loop are stored without it, and the first request fails if this fails again.
            Err(_) if matches!(run.phase, RunPhase::Opening { .. }) => self.advance(effects),
            Err(error) => self.fail(error, effects),
        }
    }

    pub(super) fn recorded(
        &mut self,
        message: Result<SharedMessage, String>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(run) = self.run_mut() else { return };
        let Some(recording) = run.recording.take() else {
            return;
        };
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                run.storage_failed = true;
                if !run.failing {
                    return self.fail(error, effects);
                }
                // The run is already ending; its last message is still published.
                recording
            }
        };
        run.new_messages.push(Arc::clone(&message));
        let is_response = matches!(run.phase, RunPhase::Responding);
        self.queue.finish_recording();
        if let AgentMessage::Assistant(response) = &*message {
            self.note_response(&message, response);
        }
        effects.push(emit(AgentEvent::MessageEnd {
            message: Arc::clone(&message),
        }));
        if let AgentMessage::Assistant(response) = &*message
            && response.stop_reason != StopReason::Error
        {
            self.finish_retry(None, effects);
        }
        if is_response {
            self.after_response(message, effects);
        } else {
            self.advance(effects);
        }
    }

    fn note_response(&mut self, message: &SharedMessage, response: &AssistantMessage) {
        self.outcome = match response.stop_reason {
            StopReason::Aborted => ActivityOutcome::Aborted,
            StopReason::Error => ActivityOutcome::Error,
            _ => ActivityOutcome::Completed,
        };
        if !matches!(response.stop_reason, StopReason::Error | StopReason::Length) {
            self.recovery = RecoveryState::NotAttempted;
        }
        if let Some(run) = self.run_mut()
            && !run.storage_failed
        {
            run.last_response = Some(Arc::clone(message));
        }
    }

    /// Polls the queues, after the hooks had the chance to fill them.
    pub(super) fn polled(&mut self, point: PollPoint, effects: &mut Vec<Effect>) {
        match point {
            PollPoint::LoopStart { skip } => {
                if !skip {
                    self.queue.take_steering();
                }
                self.request(effects);
            }
            PollPoint::AfterTurn {
                calls_remain,
                asked_to_continue,
            } => {
                let must_request = calls_remain || asked_to_continue;
                self.queue.take_steering();
                if !calls_remain {
                    self.queue.take_follow_ups();
                }
                if !must_request && !self.queue.has_taken() {
                    return self.end_loop(effects);
                }
                self.set_phase(RunPhase::BetweenTurns {
                    step: BetweenTurnsStep::Checking,
                    must_request,
                });
                effects.push(Effect::CheckContext(ContextCheck::BetweenTurns));
            }
        }
    }

    /// Compacts between two turns if the next one would have too little room.
    pub(super) fn context_checked_between_turns(
        &mut self,
        decision: &CompactionDecision,
        effects: &mut Vec<Effect>,
    ) {
        match decision {
            CompactionDecision::Compact { reason, .. } => {
                let job = CompactionJob {
                    reason: *reason,
                    will_retry: false,
                };
                self.set_between_turns_step(BetweenTurnsStep::Planning(job));
                effects.push(Effect::PlanCompaction);
            }
            CompactionDecision::Skip | CompactionDecision::Failed(_) => self.next_turn(effects),
        }
    }

    pub(super) fn planned_between_turns(
        &mut self,
        job: CompactionJob,
        possible: bool,
        effects: &mut Vec<Effect>,
    ) {
        if !possible {
            return self.next_turn(effects);
        }
        self.set_between_turns_step(BetweenTurnsStep::Compacting(job));
        start_compaction(job, effects);
    }

    pub(super) fn compacted_between_turns(
        &mut self,
        job: CompactionJob,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::EndCompaction(job));
        self.next_turn(effects);
    }

    fn set_between_turns_step(&mut self, new: BetweenTurnsStep) {
        if let Some(RunPhase::BetweenTurns { step, .. }) = self.phase_mut() {
            *step = new;
        }
    }

    /// Starts the next turn. Messages steered during the context check belong to it; if the queued messages it was
    /// meant for are gone, the loop ends.
    fn next_turn(&mut self, effects: &mut Vec<Effect>) {
        let Some(RunPhase::BetweenTurns { must_request, .. }) = self.phase_mut() else {
            return;
        };
        let must_request = *must_request;
        self.queue.take_steering();
        if !must_request && !self.queue.has_taken() {
            return self.end_loop(effects);
        }
        effects.push(emit(AgentEvent::TurnStart));
        self.request(effects);
    }

    fn request(&mut self, effects: &mut Vec<Effect>) {
        let queued = self.queue.begin_delivery();
        let Some(run) = self.run_mut() else { return };
        run.plan = records_of(queued).into();
        run.phase = RunPhase::Requesting;
        effects.push(Effect::Compose);
    }

    pub(super) fn response_event(
        &mut self,
        event: AssistantMessageEvent,
        effects: &mut Vec<Effect>,
    ) {
        let Some(RunPhase::Streaming { started }) = self.phase_mut() else {
            return;
        };
        if let Some(response) = event.final_message() {
            let started = *started;
            let message = Arc::new(AgentMessage::Assistant(Arc::clone(response)));
            self.streaming = None;
            let Some(run) = self.run_mut() else { return };
            run.phase = RunPhase::Responding;
            run.plan = [PlanItem::Record {
                message,
                queued: None,
                started,
            }]
            .into();
            return self.advance(effects);
        }
        if let AssistantMessageEvent::Start { message } = event {
            *started = true;
            let first = Arc::new(AgentMessage::from(message.snapshot()));
            self.streaming = Some(message);
            effects.push(emit(AgentEvent::MessageStart { message: first }));
        } else if let Some(message) = &self.streaming {
            let message = message.clone();
            effects.push(emit(AgentEvent::message_update(message, event)));
        }
    }

    /// Runs the tool calls of a stored response, or finishes the turn.
    fn after_response(&mut self, message: SharedMessage, effects: &mut Vec<Effect>) {
        let AgentMessage::Assistant(response) = &*message else {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls, effects);
        };
        if response.stop_reason.is_failure() {
            return self.finish_turn(message, Vec::new(), TurnOutcome::Failed, effects);
        }
        let calls: Vec<_> = response.tool_calls().cloned().collect();
        if calls.is_empty() {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls, effects);
        }
        let mut batch = Batch::new(calls, self.batch_mode(response));
        let step = if response.stop_reason == StopReason::Length {
            batch.fail_all(TRUNCATED_CALL)
        } else {
            batch.start()
        };
        self.set_phase(RunPhase::RunningTools {
            response: message,
            batch,
            complete: false,
        });
        self.after_batch_step(step, effects);
    }

    fn batch_mode(&self, response: &AssistantMessage) -> ExecutionMode {
        let selection = &self.selection;
        let one_is_sequential = response
            .tool_calls()
            .any(|call| selection.sequential_tools.contains(&call.name));
        if selection.execution_mode == ExecutionMode::Sequential || one_is_sequential {
            ExecutionMode::Sequential
        } else {
            ExecutionMode::Parallel
        }
    }

    pub(super) fn batch_input(
        &mut self,
        feed: impl FnOnce(&mut Batch, bool) -> BatchStep,
        effects: &mut Vec<Effect>,
    ) {
        let aborted = self.is_aborted();
        let Some(RunPhase::RunningTools { batch, .. }) = self.phase_mut() else {
            return;
        };
        let step = feed(batch, aborted);
        self.after_batch_step(step, effects);
    }

    pub(super) fn tool_updated(
        &mut self,
        index: usize,
        partial: ToolOutput,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(RunPhase::RunningTools { batch, .. }) = self.phase_mut() {
            effects.extend(batch.update_event(index, partial).map(emit));
        }
    }

    fn after_batch_step(&mut self, step: BatchStep, effects: &mut Vec<Effect>) {
        let now_ms = self.now_ms;
        let Some(run) = self.run_mut() else { return };
        if let RunPhase::RunningTools { complete, .. } = &mut run.phase {
            *complete = step.complete;
        }
        run.plan
            .extend(step.actions.into_iter().map(|action| match action {
                BatchAction::Do(effect) => PlanItem::Effect(effect),
                BatchAction::AddResult(result) => PlanItem::Record {
                    message: Arc::new(AgentMessage::from(result.into_message(now_ms))),
                    queued: None,
                    started: false,
                },
            }));
        self.advance(effects);
    }

    fn batch_completed(&mut self, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        let RunPhase::RunningTools {
            response, batch, ..
        } = &run.phase
        else {
            return;
        };
        let outcome = if batch.requests_termination() {
            TurnOutcome::NoCalls
        } else {
            TurnOutcome::CallsRemain
        };
        let response = Arc::clone(response);
        let results = run.messages_since(&response);
        self.finish_turn(response, results, outcome, effects);
    }

    fn finish_turn(
        &mut self,
        message: SharedMessage,
        tool_results: Vec<SharedMessage>,
        outcome: TurnOutcome,
        effects: &mut Vec<Effect>,
    ) {
        let turn = FinishedTurn {
            message,
            tool_results,
        };
        effects.push(Effect::FinishTurn(turn.clone()));
        self.set_phase(RunPhase::FinishingTurn { turn, outcome });
    }

    pub(super) fn turn_finished(&mut self, decision: TurnDecision, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        let RunPhase::FinishingTurn { turn, outcome } = &run.phase else {
            return;
        };
        run.last_results.clone_from(&turn.tool_results);
        effects.push(emit(AgentEvent::TurnEnd {
            message: Arc::clone(&turn.message),
            tool_results: turn.tool_results.clone(),
        }));
        let next = (*outcome != TurnOutcome::Failed).then_some(PollPoint::AfterTurn {
            calls_remain: *outcome == TurnOutcome::CallsRemain,
            asked_to_continue: decision == TurnDecision::Continue,
        });
        run.phase = RunPhase::EndingTurn(next);
        // Handlers of `turn_end` may still add messages to append here.
        effects.push(Effect::Continue);
    }

    /// Appends the messages that waited for the end of the turn, then continues.
    pub(super) fn turn_ended(&mut self, effects: &mut Vec<Effect>) {
        let Some(RunPhase::EndingTurn(next)) = self.phase_mut() else {
            return;
        };
        let next = *next;
        if let Some(message) = self.waiting.custom.pop_front() {
            return effects.push(Effect::Append(message));
        }
        match next {
            Some(point) => {
                self.set_phase(RunPhase::Polling(point));
                effects.push(Effect::Continue);
            }
            None => self.end_loop(effects),
        }
    }

    /// Ends the run with an error message. Only hooks and the store cause such failures.
    pub(super) fn fail(&mut self, error: String, effects: &mut Vec<Effect>) {
        let (model, now_ms) = (self.selection.model.clone(), self.now_ms);
        let Some(run) = self.run_mut() else { return };
        if run.failing || matches!(run.phase, RunPhase::EndingLoop) {
            return;
        }
        run.failing = true;
        // An incomplete response ends with the error message.
        let is_response_open = match &run.phase {
            RunPhase::Streaming { started } => *started,
            RunPhase::Responding => run.recording.is_some(),
            _ => false,
        };
        run.recording = None;
        if let RunPhase::RunningTools { batch, .. } = &mut run.phase {
            let unstarted = run.plan.iter().find_map(|item| match item {
                PlanItem::Effect(Effect::Preflight(call)) => Some(&*call.id),
                _ => None,
            });
            effects.extend(batch.abandon(unstarted).into_iter().map(emit));
        }
        let reason = if run.aborted {
            StopReason::Aborted
        } else {
            StopReason::Error
        };
        let message = AssistantMessage {
            content: vec![AssistantBlock::text("")],
            stop_reason: reason,
            error_message: Some(error),
            timestamp: now_ms,
            ..AssistantMessage::default()
        };
        let message = match model {
            Some(model) => AssistantMessage {
                api: model.api.clone(),
                provider: model.provider.clone(),
                model: model.id.clone(),
                ..message
            },
            None => message,
        };
        run.new_messages = Vec::new();
        run.phase = RunPhase::Failing;
        run.plan = [PlanItem::Record {
            message: Arc::new(AgentMessage::from(message)),
            queued: None,
            started: is_response_open,
        }]
        .into();
        self.streaming = None;
        if self.queue.put_back() {
            effects.push(Effect::PublishQueue);
        }
        self.advance(effects);
    }

    pub(super) fn end_loop(&mut self, effects: &mut Vec<Effect>) {
        self.queue.put_back();
        let Some(run) = self.run_mut() else { return };
        run.phase = RunPhase::EndingLoop;
        let messages = std::mem::take(&mut run.new_messages);
        let will_retry = self.will_retry(&messages);
        effects.push(Effect::Emit(SessionEvent::AgentEnd {
            messages,
            will_retry,
        }));
        effects.push(Effect::Continue);
    }

    pub(super) fn set_phase(&mut self, phase: RunPhase) {
        if let Some(run) = self.run_mut() {
            run.phase = phase;
        }
    }

    pub(super) fn phase_mut(&mut self) -> Option<&mut RunPhase> {
        self.run_mut().map(|run| &mut run.phase)
    }
}

impl Run {
    /// Returns the messages recorded after this one.
    fn messages_since(&self, message: &SharedMessage) -> Vec<SharedMessage> {
        let later = self.new_messages.iter().rev();
        let mut later: Vec<_> = later
            .take_while(|one| !Arc::ptr_eq(one, message))
            .cloned()
            .collect();
        later.reverse();
        later
    }

    pub(super) fn open_call_ids(&self) -> Vec<String> {
        match &self.phase {
            RunPhase::RunningTools { batch, .. } => batch.open_call_ids(),
            _ => Vec::new(),
        }
    }

    pub(super) fn running_response(&self) -> Option<SharedMessage> {
        match &self.phase {
            RunPhase::RunningTools { response, .. } => Some(Arc::clone(response)),
            _ => None,
        }
    }
}

fn records_of(queued: Vec<Queued>) -> Vec<PlanItem> {
    let records = queued.into_iter().map(|queued| PlanItem::Record {
        message: Arc::new(queued.message),
        queued: Some(queued.id),
        started: false,
    });
    records.collect()
}

pub(super) fn emit(event: AgentEvent) -> Effect {
    Effect::Emit(SessionEvent::Agent(event))
}
