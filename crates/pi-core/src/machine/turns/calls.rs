//! The tool calls of a turn.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, Answer, AssistantMessage, Request, RequestId, SharedMessage, StopReason,
    ToolOutput,
};

use super::{LoopPhase, TurnLoop, TurnOutcome};
use crate::barrier::OpenCall;
use crate::machine::batch::{Batch, BatchAction, BatchStep};
use crate::machine::context::{Context, Selection};
use crate::machine::effect::{AnswerError, Effect};
use crate::machine::plan::PlanItem;
use crate::machine::run::RunFlags;
use crate::tool::ExecutionMode;

/// Result of calls in a response that was cut off by the output limit.
const TRUNCATED_CALL: &str = "This call was not run: the response reached its output limit, so the \
     arguments may be incomplete. Repeat the call with complete arguments.";

impl TurnLoop {
    /// Runs the tool calls of a stored response, or finishes the turn.
    pub(super) fn after_response(
        &mut self,
        message: SharedMessage,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        let AgentMessage::Assistant(response) = &*message else {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls, cx);
        };
        if response.stop_reason.is_failure() {
            return self.finish_turn(message, Vec::new(), TurnOutcome::Failed, cx);
        }
        let calls = response.tool_calls().cloned().map(|call| OpenCall {
            call,
            is_interrupted: false,
        });
        let calls: Vec<_> = calls.collect();
        self.run_calls(message, calls, flags, cx);
    }

    /// Runs the open calls of a stored response, or finishes the turn.
    pub(super) fn run_calls(
        &mut self,
        message: SharedMessage,
        calls: Vec<OpenCall>,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        let AgentMessage::Assistant(response) = &*message else {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls, cx);
        };
        if calls.is_empty() {
            return self.finish_turn(message, Vec::new(), TurnOutcome::NoCalls, cx);
        }
        let mode = batch_mode(&cx.selection, response);
        let mut batch = Batch::new(calls, mode, cx.selection.is_supervised);
        let step = if response.stop_reason == StopReason::Length {
            batch.fail_all(TRUNCATED_CALL)
        } else {
            batch.start()
        };
        self.phase = LoopPhase::RunningTools {
            response: message,
            batch,
            complete: false,
        };
        self.after_batch_step(step, flags, cx);
    }

    pub(super) fn batch_input(
        &mut self,
        feed: impl FnOnce(&mut Batch) -> BatchStep,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        if let LoopPhase::RunningTools { batch, .. } = &mut self.phase {
            let step = feed(batch);
            let has_stopped = batch.has_stopped();
            self.after_batch_step(step, flags, cx);
            if has_stopped {
                self.stop(flags, cx);
            }
        }
    }

    pub(super) fn tool_updated(&self, index: usize, partial: ToolOutput, cx: &mut Context) {
        if let LoopPhase::RunningTools { batch, .. } = &self.phase
            && let Some(event) = batch.update_event(index, partial)
        {
            cx.emit(event);
        }
    }

    /// Accepts the first answer to a request of a call.
    pub(in crate::machine) fn answer(
        &mut self,
        request: &RequestId,
        answer: Answer,
    ) -> Result<(), AnswerError> {
        match &mut self.phase {
            LoopPhase::RunningTools { batch, .. } => batch.answer(request, answer),
            _ => Err(AnswerError::Unknown),
        }
    }

    /// Cancels the requests of calls.
    pub(in crate::machine) fn cancel_requests(&mut self, cx: &mut Context) {
        if let LoopPhase::RunningTools { batch, .. } = &mut self.phase {
            for request in batch.cancel_requests() {
                cx.push(Effect::Resolve(request));
            }
        }
    }

    /// Returns the requests that wait for an answer.
    pub(in crate::machine) fn pending_requests(&self) -> Vec<Request> {
        match &self.phase {
            LoopPhase::RunningTools { batch, .. } => batch.pending_requests().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn after_batch_step(&mut self, step: BatchStep, flags: RunFlags, cx: &mut Context) {
        if let LoopPhase::RunningTools { complete, .. } = &mut self.phase {
            *complete = step.complete;
        }
        let now_ms = cx.now_ms;
        let items = step.actions.into_iter().map(|action| match action {
            BatchAction::Do(effect) => PlanItem::Effect(effect),
            BatchAction::AddResult(result) => PlanItem::record(result.into_message(now_ms)),
        });
        self.plan.extend(items);
        self.advance(flags, cx);
    }

    pub(super) fn batch_completed(&mut self, cx: &mut Context) {
        let LoopPhase::RunningTools {
            response, batch, ..
        } = &self.phase
        else {
            return;
        };
        let outcome = if batch.requests_termination() {
            TurnOutcome::NoCalls
        } else {
            TurnOutcome::CallsRemain
        };
        let response = Arc::clone(response);
        let results = self.messages_since(&response);
        self.finish_turn(response, results, outcome, cx);
    }

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

    pub(in crate::machine) fn open_call_ids(&self) -> Vec<String> {
        match &self.phase {
            LoopPhase::RunningTools { batch, .. } => batch.open_call_ids(),
            _ => Vec::new(),
        }
    }

    pub(in crate::machine) fn running_response(&self) -> Option<SharedMessage> {
        match &self.phase {
            LoopPhase::RunningTools { response, .. } => Some(Arc::clone(response)),
            _ => None,
        }
    }
}

fn batch_mode(selection: &Selection, response: &AssistantMessage) -> ExecutionMode {
    let one_is_sequential = response
        .tool_calls()
        .any(|call| selection.sequential_tools.contains(&call.name));
    if selection.execution_mode == ExecutionMode::Sequential || one_is_sequential {
        ExecutionMode::Sequential
    } else {
        ExecutionMode::Parallel
    }
}
