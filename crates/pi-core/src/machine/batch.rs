//! The tool calls of one response. Calls are validated in call order, run in parallel or
//! sequentially, end in completion order, and enter the transcript in call order.
//!
//! A call that a policy asks about waits for the answer of a client. The other calls of a parallel batch run meanwhile.

mod call;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentEvent, Answer, MISSING_RESULT, Request, RequestId, SessionEvent, ToolCall, ToolOutput,
};
use serde_json::Value;

pub use call::CallOutcome;
pub(super) use call::ToolCallResult;
use call::{CallState, end_event, start_event};

use super::effect::{AnswerError, Effect};
use super::input::PreflightOutcome;
use crate::barrier::{BarrierPoint, OpenCall};
use crate::tool::ExecutionMode;

/// Result of calls of a run that failed before they ended.
const ABANDONED_CALL: &str = "The run failed before this call ended";

/// Result of a call that a client denied without giving a reason.
pub(crate) const DENIED_CALL: &str = "The user denied this tool call";

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
    fn push(&mut self, effect: Effect) {
        self.actions.push(BatchAction::Do(effect));
    }

    fn emit(&mut self, event: AgentEvent) {
        self.push(Effect::Emit(SessionEvent::Agent(event)));
    }

    fn add_result(&mut self, call: &ToolCall, outcome: &CallOutcome) {
        let result = ToolCallResult::new(call.clone(), outcome.clone());
        self.actions.push(BatchAction::AddResult(result));
    }
}

#[derive(Debug)]
pub(super) struct Batch {
    calls: Vec<(ToolCall, CallState)>,
    mode: ExecutionMode,
    /// Whether the supervisor of the session decides before calls run.
    has_barrier: bool,
    /// No call starts any more, and no result is stored.
    is_stopped: bool,
    /// The calls that a killed process has started and that may not run again.
    interrupted: Vec<usize>,
    /// The requests that were answered.
    answered: Vec<RequestId>,
}

impl Batch {
    pub(super) fn new(calls: Vec<OpenCall>, mode: ExecutionMode, has_barrier: bool) -> Self {
        let numbered = calls.iter().enumerate();
        let interrupted = numbered.filter(|(_, open)| open.is_interrupted);
        let interrupted = interrupted.map(|(index, _)| index).collect();
        let calls = calls.into_iter();
        Self {
            calls: calls.map(|open| (open.call, CallState::Waiting)).collect(),
            mode,
            has_barrier,
            is_stopped: false,
            interrupted,
            answered: Vec::new(),
        }
    }

    pub(super) fn start(&mut self) -> BatchStep {
        let mut step = BatchStep::default();
        for index in std::mem::take(&mut self.interrupted) {
            let Some((call, _)) = self.calls.get(index) else {
                continue;
            };
            step.emit(start_event(call));
            let outcome = CallOutcome::error(ToolOutput::failure(MISSING_RESULT));
            self.end(index, outcome, &mut step);
            if self.mode == ExecutionMode::Sequential {
                self.add_result(index, &mut step);
            }
        }
        if !self.check_next(&mut step) {
            match self.mode {
                ExecutionMode::Sequential => step.complete = true,
                ExecutionMode::Parallel => self.report_results_when_all_ended(&mut step),
            }
        }
        step
    }

    fn add_result(&self, index: usize, step: &mut BatchStep) {
        if let Some((call, CallState::Finished(outcome))) = self.calls.get(index) {
            step.add_result(call, outcome);
        }
    }

    /// Fails every call with the same message, without running any.
    pub(super) fn fail_all(&mut self, words: &str) -> BatchStep {
        let mut step = BatchStep::default();
        for (call, state) in &mut self.calls {
            let outcome = CallOutcome::error(ToolOutput::failure(words));
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
                self.end(index, CallOutcome::error(output), &mut step);
            }
            PreflightOutcome::Ready(arguments) => self.set(index, CallState::Ready(arguments)),
            PreflightOutcome::Asks { .. } if aborted => {
                self.end(index, CallOutcome::aborted(), &mut step);
            }
            PreflightOutcome::Asks { request, arguments } => {
                step.push(Effect::Ask(request.clone()));
                self.set(
                    index,
                    CallState::Asking {
                        request,
                        arguments,
                        answer: None,
                    },
                );
            }
        }
        self.advance(index, aborted, &mut step);
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
            _ if self.is_stopped => {}
            ExecutionMode::Sequential => self.advance_sequential(index, aborted, &mut step),
            ExecutionMode::Parallel => self.report_results_when_all_ended(&mut step),
        }
        step
    }

    /// Accepts the first answer to a request. The call continues with [`Batch::continue_answered`].
    pub(super) fn answer(&mut self, id: &RequestId, given: Answer) -> Result<(), AnswerError> {
        let mut is_answered = self.answered.contains(id);
        for (_, state) in &mut self.calls {
            match state {
                CallState::Asking {
                    request, answer, ..
                } if request.id == *id => {
                    if answer.is_none() {
                        if let Some(expected) = request.kind.expects_other_than(&given) {
                            return Err(AnswerError::Invalid { expected });
                        }
                        *answer = Some(given);
                        return Ok(());
                    }
                    is_answered = true;
                }
                _ => {}
            }
        }
        Err(if is_answered {
            AnswerError::AlreadyAnswered
        } else {
            AnswerError::Unknown
        })
    }

    /// Cancels the requests without an answer, and returns them.
    pub(super) fn cancel_requests(&mut self) -> Vec<RequestId> {
        let mut canceled = Vec::new();
        for (_, state) in &mut self.calls {
            if let CallState::Asking {
                request,
                answer: answer @ None,
                ..
            } = state
            {
                *answer = Some(Answer::Cancelled);
                canceled.push(request.id.clone());
            }
        }
        canceled
    }

    /// Continues a call whose request was answered.
    pub(super) fn continue_answered(&mut self, id: &RequestId, aborted: bool) -> BatchStep {
        let mut step = BatchStep::default();
        let is_answered = |(_, state): &(ToolCall, CallState)| matches!(state, CallState::Asking { request, answer: Some(_), .. } if request.id == *id);
        let Some(index) = self.calls.iter().position(is_answered) else {
            return step;
        };
        let Some((_, state)) = self.calls.get_mut(index) else {
            return step;
        };
        let CallState::Asking {
            arguments,
            answer: Some(answer),
            ..
        } = std::mem::replace(state, CallState::Checking)
        else {
            return step;
        };
        self.answered.push(id.clone());
        step.push(resolved(id.clone(), answer.clone()));
        match answer {
            Answer::Allow | Answer::AllowForSession => self.set(index, CallState::Ready(arguments)),
            Answer::Deny { reason } => {
                let reason = reason.unwrap_or_else(|| DENIED_CALL.to_owned());
                let denied = CallOutcome::error(ToolOutput::failure(reason));
                self.end(index, denied, &mut step);
            }
            _ => self.end(index, CallOutcome::aborted(), &mut step),
        }
        if self.is_stopped {
            return step;
        }
        self.advance(index, aborted, &mut step);
        step
    }

    /// Stops the batch: calls that are running or waiting for an answer end, others do not start. Returns the requests
    /// that are canceled.
    pub(super) fn stop(&mut self) -> Vec<RequestId> {
        self.is_stopped = true;
        self.cancel_requests()
    }

    /// Whether the batch was stopped and nothing of it is in progress.
    pub(super) fn has_stopped(&self) -> bool {
        let is_in_progress = |(_, state): &(ToolCall, CallState)| {
            matches!(state, CallState::Running | CallState::Asking { .. })
        };
        self.is_stopped && !self.calls.iter().any(is_in_progress)
    }

    /// Returns the requests that wait for an answer.
    pub(super) fn pending_requests(&self) -> impl Iterator<Item = &Request> {
        self.calls.iter().filter_map(|(_, state)| match state {
            CallState::Asking {
                request,
                answer: None,
                ..
            } => Some(request),
            _ => None,
        })
    }

    /// Returns the events that end the requests and calls of a batch that does not continue, except the call whose
    /// start is not emitted yet.
    pub(super) fn abandon(&mut self, unstarted: Option<&str>) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        for (call, state) in &mut self.calls {
            if let CallState::Asking { request, .. } = state {
                events.push(SessionEvent::ApprovalResolved {
                    request: request.id.clone(),
                    answer: Answer::Cancelled,
                });
            }
            if state.is_open() && unstarted != Some(&*call.id) {
                let outcome = CallOutcome::error(ToolOutput::failure(ABANDONED_CALL));
                events.push(SessionEvent::Agent(end_event(call, &outcome)));
                *state = CallState::Finished(outcome);
            }
        }
        events
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
            partial_result: Box::new(partial),
            parent_tool_call_id: None,
        })
    }

    /// Returns the IDs of calls that have started and not finished.
    pub(super) fn open_call_ids(&self) -> Vec<String> {
        let open = self.calls.iter().filter(|(_, state)| state.is_open());
        open.map(|(call, _)| call.id.clone()).collect()
    }

    /// Returns whether every result requests the end of the run.
    pub(super) fn requests_termination(&self) -> bool {
        let mut ended = self.calls.iter().filter_map(|(_, state)| match state {
            CallState::Finished(outcome) => Some(outcome.output.terminate == Some(true)),
            _ => None,
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
        let is_checking = |(_, state): &(ToolCall, CallState)| matches!(state, CallState::Checking);
        if self.calls.iter().any(is_checking) {
            return true;
        }
        let waiting = self
            .calls
            .iter_mut()
            .find(|(_, state)| matches!(state, CallState::Waiting));
        let Some((call, state)) = waiting else {
            return false;
        };
        *state = CallState::Checking;
        step.emit(start_event(call));
        step.push(Effect::Preflight(call.clone()));
        true
    }

    /// Runs the calls that are ready, after the barrier if there is one.
    fn run_ready(&mut self, step: &mut BatchStep) {
        let mut held = Vec::new();
        for (index, (call, state)) in self.calls.iter_mut().enumerate() {
            if !matches!(state, CallState::Ready(_)) {
                continue;
            }
            let CallState::Ready(arguments) = std::mem::replace(state, CallState::Running) else {
                continue;
            };
            if self.has_barrier {
                *state = CallState::Held(arguments);
                held.push(call.clone());
            } else {
                step.push(execution(index, call, arguments));
            }
        }
        if !held.is_empty() {
            step.push(Effect::Barrier(BarrierPoint::Tools(held)));
        }
    }

    /// Runs the calls that waited for the supervisor; after an abort, ends them instead.
    pub(super) fn barrier_passed(&mut self, aborted: bool) -> BatchStep {
        let mut step = BatchStep::default();
        for index in 0..self.calls.len() {
            let Some((call, state)) = self.calls.get_mut(index) else {
                continue;
            };
            if !matches!(state, CallState::Held(_)) {
                continue;
            }
            let CallState::Held(arguments) = std::mem::replace(state, CallState::Running) else {
                continue;
            };
            if !aborted {
                step.push(execution(index, call, arguments));
                continue;
            }
            self.end(index, CallOutcome::aborted(), &mut step);
            if self.mode == ExecutionMode::Sequential {
                self.advance_sequential(index, aborted, &mut step);
            }
        }
        if aborted && self.mode == ExecutionMode::Parallel {
            self.report_results_when_all_ended(&mut step);
        }
        step
    }

    fn advance(&mut self, index: usize, aborted: bool, step: &mut BatchStep) {
        match self.mode {
            ExecutionMode::Sequential => self.advance_sequential(index, aborted, step),
            ExecutionMode::Parallel => self.advance_parallel(aborted, step),
        }
    }

    /// One call at a time: its result enters the transcript before the next call starts. After an
    /// abort, the remaining calls get no result.
    fn advance_sequential(&mut self, index: usize, aborted: bool, step: &mut BatchStep) {
        match self.calls.get(index) {
            Some((_, CallState::Ready(_))) => self.run_ready(step),
            Some((call, CallState::Finished(outcome))) => {
                step.add_result(call, outcome);
                step.complete = aborted || !self.check_next(step);
            }
            _ => {}
        }
    }

    /// Validates all calls first, then runs all that may run. After an abort, no further calls start,
    /// and those ready to run are ended instead.
    fn advance_parallel(&mut self, aborted: bool, step: &mut BatchStep) {
        if !aborted && self.check_next(step) {
            return;
        }
        if aborted {
            for index in 0..self.calls.len() {
                if matches!(self.calls.get(index), Some((_, CallState::Ready(_)))) {
                    self.end(index, CallOutcome::aborted(), step);
                }
            }
        } else {
            self.run_ready(step);
        }
        self.report_results_when_all_ended(step);
    }

    fn report_results_when_all_ended(&self, step: &mut BatchStep) {
        if self.calls.iter().any(|(_, state)| state.is_open()) {
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

fn execution(index: usize, call: &ToolCall, arguments: JsonObject) -> Effect {
    Effect::Execute {
        index,
        call: call.clone(),
        arguments,
    }
}

fn resolved(request: RequestId, answer: Answer) -> Effect {
    Effect::Emit(SessionEvent::ApprovalResolved { request, answer })
}
