//! The tool calls of one response. Calls are validated in call order, run in parallel or
//! sequentially, end in completion order, and enter the transcript in call order.

use pi_protocol::json::JsonObject;
use pi_protocol::{ToolCall, ToolResultMessage};
use serde_json::Value;

use super::effect::Effect;
use super::input::PreflightOutcome;
use crate::event::AgentEvent;
use crate::session_event::SessionEvent;
use crate::tool::{ExecutionMode, ToolOutput};

/// Result of calls of a run that failed before they ended.
const ABANDONED_CALL: &str = "The run failed before this call ended";

#[derive(Debug, Clone)]
pub struct CallOutcome {
    pub output: ToolOutput,
    pub is_error: bool,
}

/// A call and its outcome, ready to become a message.
#[derive(Debug, Clone)]
pub(super) struct ToolCallResult {
    call: ToolCall,
    outcome: CallOutcome,
}

impl ToolCallResult {
    pub(super) fn into_message(self, timestamp: i64) -> ToolResultMessage {
        ToolResultMessage {
            tool_call_id: self.call.id,
            tool_name: self.call.name,
            content: self.outcome.output.content,
            details: self.outcome.output.details,
            usage: self.outcome.output.usage,
            is_error: self.outcome.is_error,
            timestamp,
            ..ToolResultMessage::default()
        }
    }
}

/// Effect of one input on a batch.
#[derive(Debug, Default)]
pub(super) struct BatchStep {
    pub actions: Vec<BatchAction>,
    pub complete: bool,
}

#[derive(Debug)]
pub(super) enum BatchAction {
    Do(Effect),
    /// Performed by the machine: this result enters the transcript.
    AddResult(ToolCallResult),
}

impl BatchStep {
    fn emit(&mut self, event: AgentEvent) {
        let event = Effect::Emit(SessionEvent::Agent(event));
        self.actions.push(BatchAction::Do(event));
    }

    fn add_result(&mut self, call: &ToolCall, outcome: &CallOutcome) {
        let result = ToolCallResult {
            call: call.clone(),
            outcome: outcome.clone(),
        };
        self.actions.push(BatchAction::AddResult(result));
    }
}

#[derive(Debug)]
enum CallState {
    Waiting,
    /// `Preflight` is in progress.
    Checking,
    Ready(JsonObject),
    /// `Execute` is in progress.
    Running,
    Finished(CallOutcome),
}

#[derive(Debug)]
pub(super) struct Batch {
    calls: Vec<(ToolCall, CallState)>,
    mode: ExecutionMode,
}

impl Batch {
    pub(super) fn new(calls: Vec<ToolCall>, mode: ExecutionMode) -> Self {
        Self {
            calls: calls
                .into_iter()
                .map(|call| (call, CallState::Waiting))
                .collect(),
            mode,
        }
    }

    pub(super) fn start(&mut self) -> BatchStep {
        let mut step = BatchStep::default();
        self.check_next(&mut step);
        step
    }

    /// Fails every call with the same message, without running any.
    pub(super) fn fail_all(&mut self, words: &str) -> BatchStep {
        let mut step = BatchStep::default();
        for (call, state) in &mut self.calls {
            let outcome = CallOutcome {
                output: ToolOutput::failure(words),
                is_error: true,
            };
            step.emit(start_event(call));
            step.emit(end_event(call, &outcome));
            step.add_result(call, &outcome);
            *state = CallState::Finished(outcome);
        }
        step.complete = true;
        step
    }

    /// Processes the outcome of the current preflight check.
    pub(super) fn preflighted(&mut self, outcome: PreflightOutcome, aborted: bool) -> BatchStep {
        let mut step = BatchStep::default();
        let checking = self
            .calls
            .iter()
            .position(|(_, state)| matches!(state, CallState::Checking));
        let Some(index) = checking else { return step };
        match outcome {
            PreflightOutcome::Refused(output) => {
                self.end(
                    index,
                    CallOutcome {
                        output,
                        is_error: true,
                    },
                    &mut step,
                );
            }
            PreflightOutcome::Ready(arguments) => self.set(index, CallState::Ready(arguments)),
        }
        match self.mode {
            ExecutionMode::Sequential => self.advance_sequential(index, aborted, &mut step),
            ExecutionMode::Parallel => self.advance_parallel(aborted, &mut step),
        }
        step
    }

    /// Processes the outcome of a running call.
    pub(super) fn finished(
        &mut self,
        index: usize,
        outcome: CallOutcome,
        aborted: bool,
    ) -> BatchStep {
        let mut step = BatchStep::default();
        if !matches!(self.calls.get(index), Some((_, CallState::Running))) {
            return step;
        }
        self.end(index, outcome, &mut step);
        match self.mode {
            ExecutionMode::Sequential => self.advance_sequential(index, aborted, &mut step),
            ExecutionMode::Parallel => self.report_results_when_all_ended(&mut step),
        }
        step
    }

    /// Returns the events that end the calls of a batch that does not continue, except the one whose start is not
    /// emitted yet.
    pub(super) fn abandon(&mut self, unstarted: Option<&str>) -> Vec<AgentEvent> {
        let mut ends = Vec::new();
        for (call, state) in &mut self.calls {
            let is_open = matches!(
                state,
                CallState::Checking | CallState::Ready(_) | CallState::Running
            );
            if is_open && unstarted != Some(&*call.id) {
                let outcome = CallOutcome {
                    output: ToolOutput::failure(ABANDONED_CALL),
                    is_error: true,
                };
                ends.push(end_event(call, &outcome));
                *state = CallState::Finished(outcome);
            }
        }
        ends
    }

    /// Returns the event for a partial result; `None` if the call is over.
    pub(super) fn update_event(&self, index: usize, partial: ToolOutput) -> Option<AgentEvent> {
        let (call, CallState::Running) = self.calls.get(index)? else {
            return None;
        };
        Some(AgentEvent::ToolExecutionUpdate {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Value::Object(call.arguments.clone()),
            partial_result: partial,
        })
    }

    /// Returns the IDs of calls that have started and not finished.
    pub(super) fn open_call_ids(&self) -> Vec<String> {
        self.calls
            .iter()
            .filter(|(_, state)| {
                matches!(
                    state,
                    CallState::Checking | CallState::Ready(_) | CallState::Running
                )
            })
            .map(|(call, _)| call.id.clone())
            .collect()
    }

    /// Returns whether every result requests the end of the run.
    pub(super) fn requests_termination(&self) -> bool {
        let mut ended = self.calls.iter().filter_map(|(_, state)| match state {
            CallState::Finished(outcome) => Some(outcome.output.terminate == Some(true)),
            CallState::Waiting | CallState::Checking | CallState::Ready(_) | CallState::Running => {
                None
            }
        });
        ended
            .next()
            .is_some_and(|first| first && ended.all(|asks| asks))
    }

    fn set(&mut self, index: usize, state: CallState) {
        if let Some((_, current)) = self.calls.get_mut(index) {
            *current = state;
        }
    }

    fn end(&mut self, index: usize, outcome: CallOutcome, step: &mut BatchStep) {
        if let Some((call, state)) = self.calls.get_mut(index) {
            step.emit(end_event(call, &outcome));
            *state = CallState::Finished(outcome);
        }
    }

    fn check_next(&mut self, step: &mut BatchStep) -> bool {
        let waiting = self
            .calls
            .iter_mut()
            .find(|(_, state)| matches!(state, CallState::Waiting));
        let Some((call, state)) = waiting else {
            return false;
        };
        *state = CallState::Checking;
        step.emit(start_event(call));
        step.actions
            .push(BatchAction::Do(Effect::Preflight(call.clone())));
        true
    }

    fn run(&mut self, index: usize, step: &mut BatchStep) {
        let Some((call, state)) = self.calls.get_mut(index) else {
            return;
        };
        if let CallState::Ready(arguments) = std::mem::replace(state, CallState::Running) {
            let effect = Effect::Execute {
                index,
                call: call.clone(),
                arguments,
            };
            step.actions.push(BatchAction::Do(effect));
        }
    }

    /// One call at a time: its result enters the transcript before the next call starts. After an
    /// abort, the remaining calls get no result.
    fn advance_sequential(&mut self, index: usize, aborted: bool, step: &mut BatchStep) {
        match self.calls.get(index) {
            Some((_, CallState::Ready(_))) => self.run(index, step),
            Some((call, CallState::Finished(outcome))) => {
                step.add_result(call, outcome);
                step.complete = aborted || !self.check_next(step);
            }
            _ => {}
        }
    }

    /// Validates all calls first, then runs all of them. After an abort, no further calls start,
    /// and those ready to run are ended instead.
    fn advance_parallel(&mut self, aborted: bool, step: &mut BatchStep) {
        if !aborted && self.check_next(step) {
            return;
        }
        for index in 0..self.calls.len() {
            if !matches!(self.calls.get(index), Some((_, CallState::Ready(_)))) {
                continue;
            }
            if aborted {
                let output = ToolOutput::aborted();
                self.end(
                    index,
                    CallOutcome {
                        output,
                        is_error: true,
                    },
                    step,
                );
            } else {
                self.run(index, step);
            }
        }
        self.report_results_when_all_ended(step);
    }

    fn report_results_when_all_ended(&self, step: &mut BatchStep) {
        let open = |state: &CallState| {
            matches!(
                state,
                CallState::Checking | CallState::Ready(_) | CallState::Running
            )
        };
        if self.calls.iter().any(|(_, state)| open(state)) {
            return;
        }
        for (call, state) in &self.calls {
            if let CallState::Finished(outcome) = state {
                step.add_result(call, outcome);
            }
        }
        step.complete = true;
    }
}

fn start_event(call: &ToolCall) -> AgentEvent {
    AgentEvent::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: Value::Object(call.arguments.clone()),
    }
}

fn end_event(call: &ToolCall, outcome: &CallOutcome) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: outcome.output.clone(),
        is_error: outcome.is_error,
    }
}
