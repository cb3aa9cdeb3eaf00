//! Performs the machine's effects: calls hooks and the model, runs tools, notifies listeners.
//!
//! There is one driver task per run. It owns the run's cancellation token and its running tools, so
//! no task of a run outlives it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use futures_util::future::select_all;
use pi_ai::ToolCall;
use pi_ai::json::JsonObject;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use crate::agent::AgentCore;
use crate::error::HookError;
use crate::event::{AgentEvent, SharedMessage};
use crate::hooks::{FinishedToolCall, LoopUpdate, PendingToolCall, ToolCallVerdict};
use crate::machine::{CallOutcome, Effect, MachineInput, PreflightOutcome};
use crate::request_phase::PhaseRelay;
use crate::tool::{Tool, ToolOutput, UpdateSink};

/// Result of a call that a hook blocked without giving a reason.
const BLOCKED_CALL: &str = "Tool execution was blocked";

pub(crate) struct RunDriver {
    core: Arc<AgentCore>,
    cancel: CancellationToken,
    effects: VecDeque<Effect>,
    running: JoinSet<CallOutcome>,
    /// The calls in `running`, by task.
    calls: Vec<RunningCall>,
    /// The span of the current turn; disabled between turns.
    turn: Span,
}

/// Starts the span of a turn. Its ID is unique in the process, because sessions share a log.
fn turn_span() -> Span {
    static NEXT_TURN: AtomicU64 = AtomicU64::new(1);
    let span = tracing::info_span!("turn", id = NEXT_TURN.fetch_add(1, Ordering::Relaxed));
    span.in_scope(|| tracing::debug!("turn started"));
    span
}

struct RunningCall {
    index: usize,
    task: tokio::task::Id,
    updates: UpdateSink,
}

impl RunDriver {
    pub(crate) fn new(core: Arc<AgentCore>, cancel: CancellationToken, first: Vec<Effect>) -> Self {
        Self {
            core,
            cancel,
            effects: first.into(),
            running: JoinSet::new(),
            calls: Vec::new(),
            turn: Span::none(),
        }
    }

    /// Runs to completion. The caller marks the run as settled afterwards.
    pub(crate) async fn run(mut self) {
        loop {
            match self.effects.pop_front() {
                Some(Effect::Finish) => break,
                Some(effect) => self.perform_in_turn(effect).await,
                None if self.running.is_empty() => break,
                None => self.await_tools().await,
            }
        }
    }

    fn feed(&mut self, input: MachineInput) {
        self.effects.extend(self.core.step(input));
    }

    async fn perform_in_turn(&mut self, effect: Effect) {
        if matches!(effect, Effect::Emit(AgentEvent::TurnStart)) {
            self.turn = turn_span();
        }
        let is_end = matches!(effect, Effect::Emit(AgentEvent::TurnEnd { .. }));
        let turn = self.turn.clone();
        self.perform(effect).instrument(turn).await;
        if is_end {
            self.turn = Span::none();
        }
    }

    async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Emit(AgentEvent::MessageEnd { message }) => {
                if let Some(instead) = self.end_message(message).await {
                    self.effects = instead.into();
                }
            }
            Effect::Emit(event) => self.core.emit(&event, &self.cancel).await,
            Effect::Resume => self.feed(MachineInput::Resumed),
            Effect::PrepareNextTurn => {
                let update = match self.core.last_turn() {
                    Some(turn) => {
                        let context = self.core.context();
                        self.core
                            .hooks
                            .prepare_next_turn(&turn, context, &self.cancel)
                            .await
                    }
                    None => Ok(LoopUpdate::default()),
                };
                self.apply_update(update, MachineInput::NextTurnPrepared);
            }
            Effect::PrepareRequest => {
                let context = self.core.context();
                let update = self.core.hooks.prepare_request(context, &self.cancel).await;
                self.apply_update(update, MachineInput::RequestPrepared);
            }
            Effect::Stream => {
                if let Err(error) = self.stream().await {
                    self.feed(MachineInput::Failed(error.0));
                }
            }
            Effect::Preflight(call) => {
                let outcome = self.preflight(call).await;
                self.feed(MachineInput::Preflighted(outcome));
            }
            Effect::Execute {
                index,
                call,
                arguments,
            } => self.execute(index, call, arguments),
            Effect::FinishTurn(turn) => {
                match self.core.hooks.finish_turn(&turn, &self.cancel).await {
                    Ok(decision) => self.feed(MachineInput::TurnFinished(decision)),
                    Err(error) => self.feed(MachineInput::Failed(error.0)),
                }
            }
            Effect::Finish => {}
        }
    }

    fn apply_update(
        &mut self,
        update: Result<LoopUpdate, HookError>,
        input: fn(crate::machine::ContextUpdate) -> MachineInput,
    ) {
        match update {
            Ok(update) => {
                let update = self.core.apply_tools(update);
                self.feed(input(update));
            }
            Err(error) => self.feed(MachineInput::Failed(error.0)),
        }
    }

    async fn stream(&mut self) -> Result<(), HookError> {
        let context = self.core.context();
        let hooks = Arc::clone(&self.core.hooks);
        let messages = hooks
            .transform_context(context.messages, &self.cancel)
            .await?;
        let messages = hooks.convert_to_model(messages).await?;
        let options = self
            .core
            .stream_options(context.thinking_level, self.cancel.child_token());
        let mut response = self
            .core
            .models
            .stream(context.model, messages.into(), options);
        let mut phases = PhaseRelay::new(&self.core.request_phase, &response);
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
            for effect in self.core.step(MachineInput::Stream(event)) {
                match effect {
                    Effect::Emit(AgentEvent::MessageEnd { message }) => {
                        if let Some(instead) = self.end_message(message).await {
                            self.effects.extend(instead);
                            break;
                        }
                    }
                    // Process effects immediately, so a fast model cannot get ahead of its
                    // listeners.
                    Effect::Emit(event) => self.core.emit(&event, &self.cancel).await,
                    later => self.effects.push_back(later),
                }
            }
        }
        Ok(())
    }

    /// Lets the hook finish a message, then emits `message_end`. Returns the effects that replace
    /// those that would have followed, if any.
    async fn end_message(&mut self, message: SharedMessage) -> Option<Vec<Effect>> {
        let given = Arc::clone(&message);
        let (message, instead) = match self.core.hooks.finish_message(given, &self.cancel).await {
            Ok(finished) if Arc::ptr_eq(&finished, &message) => (message, Vec::new()),
            Ok(finished) => {
                self.replace_in_effects(&message, &finished);
                let instead = self.core.step(MachineInput::MessageReplaced {
                    old: message,
                    new: Arc::clone(&finished),
                });
                (finished, instead)
            }
            Err(error) => {
                let instead = self.core.step(MachineInput::MessageRejected {
                    message: Arc::clone(&message),
                    error: error.0,
                });
                if !instead.is_empty() {
                    return Some(instead);
                }
                // The run is ending for this reason; its last message is still published.
                (message, Vec::new())
            }
        };
        let event = AgentEvent::MessageEnd { message };
        self.core.emit(&event, &self.cancel).await;
        (!instead.is_empty()).then_some(instead)
    }

    fn replace_in_effects(&mut self, old: &SharedMessage, new: &SharedMessage) {
        let replace = |message: &mut SharedMessage| {
            if Arc::ptr_eq(message, old) {
                *message = Arc::clone(new);
            }
        };
        for effect in &mut self.effects {
            match effect {
                Effect::FinishTurn(turn) => turn.replace(old, new),
                Effect::Emit(AgentEvent::TurnEnd {
                    message,
                    tool_results,
                }) => {
                    replace(message);
                    tool_results.iter_mut().for_each(replace);
                }
                Effect::Emit(AgentEvent::AgentEnd { messages }) => {
                    messages.iter_mut().for_each(replace);
                }
                _ => {}
            }
        }
    }

    async fn preflight(&self, call: ToolCall) -> PreflightOutcome {
        let refuse = |text: String| PreflightOutcome::Refused(ToolOutput::failure(text));
        let Some(tool) = self.core.tool(&call.name) else {
            return refuse(format!("Tool {} not found", call.name));
        };
        if let Some(error) = call.arguments_error() {
            return refuse(format!(
                "This call was not run: {error}. Repeat the call with complete arguments."
            ));
        }
        let prepared = match tool.prepare(call.arguments.clone()).await {
            Ok(prepared) => prepared,
            Err(error) => return refuse(error.0),
        };
        let arguments = match self.core.validators.check(tool.declaration(), prepared) {
            Ok(arguments) => arguments,
            Err(error) => return refuse(error.to_string()),
        };
        let pending = PendingToolCall {
            response: self.core.current_response(),
            call,
            arguments,
        };
        let verdict = self
            .core
            .hooks
            .before_tool_call(pending, &self.cancel)
            .await;
        if self.cancel.is_cancelled() {
            return PreflightOutcome::Refused(ToolOutput::aborted());
        }
        match verdict {
            Ok(ToolCallVerdict::Run(arguments)) => PreflightOutcome::Ready(arguments),
            Ok(ToolCallVerdict::Block { reason, terminate }) => {
                let mut output =
                    ToolOutput::failure(reason.unwrap_or_else(|| BLOCKED_CALL.to_owned()));
                output.terminate = terminate.then_some(true);
                PreflightOutcome::Refused(output)
            }
            Err(error) => refuse(error.0),
        }
    }

    fn execute(&mut self, index: usize, call: ToolCall, arguments: JsonObject) {
        let span = tracing::info_span!("tool", id = %call.id, name = %call.name);
        span.in_scope(|| tracing::debug!("tool started"));
        let updates = UpdateSink::default();
        let execution = ToolExecution {
            core: Arc::clone(&self.core),
            tool: self.core.tool(&call.name),
            pending: PendingToolCall {
                response: self.core.current_response(),
                call,
                arguments,
            },
            updates: updates.clone(),
            cancel: self.cancel.child_token(),
        };
        let task = self.running.spawn(execution.run().instrument(span)).id();
        self.calls.push(RunningCall {
            index,
            task,
            updates,
        });
    }

    /// Waits until a running tool reports progress or finishes.
    async fn await_tools(&mut self) {
        let mut ended = None;
        let input = {
            let shown = select_all(self.calls.iter().map(|call| Box::pin(call.updates.next())));
            tokio::select! {
                biased;
                (partial, place, _) = shown => {
                    self.calls.get(place).map(|call| MachineInput::ToolUpdated(call.index, partial))
                }
                joined = self.running.join_next_with_id() => {
                    ended = joined;
                    None
                }
            }
        };
        if let Some(input) = input {
            self.feed(input);
        }
        if let Some(joined) = ended {
            self.tool_ended(joined);
        }
    }

    fn tool_ended(&mut self, joined: Result<(tokio::task::Id, CallOutcome), JoinError>) {
        let (task, outcome) = match joined {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "tool panicked");
                let output = ToolOutput::failure("The tool crashed. This is a bug in the tool.");
                (
                    error.id(),
                    CallOutcome {
                        output,
                        is_error: true,
                    },
                )
            }
        };
        let Some(place) = self.calls.iter().position(|call| call.task == task) else {
            return;
        };
        let call = self.calls.swap_remove(place);
        // Partial results are published before the end of the call.
        while let Some(partial) = call.updates.take() {
            self.feed(MachineInput::ToolUpdated(call.index, partial));
        }
        self.feed(MachineInput::ToolFinished(call.index, outcome));
    }
}

/// One call, from its start to the outcome after the hooks.
struct ToolExecution {
    core: Arc<AgentCore>,
    tool: Option<Arc<dyn Tool>>,
    pending: PendingToolCall,
    updates: UpdateSink,
    cancel: CancellationToken,
}

impl ToolExecution {
    async fn run(self) -> CallOutcome {
        let ran = match &self.tool {
            Some(tool) => {
                let arguments = self.pending.arguments.clone();
                let updates = self.updates.clone();
                tool.execute(
                    &self.pending.call.id,
                    arguments,
                    updates,
                    self.cancel.clone(),
                )
                .await
            }
            None => Err(crate::tool::ToolError::new(
                "the tool was removed before the call started",
            )),
        };
        self.updates.close();
        let (output, is_error) = match ran {
            Ok(output) => (output, false),
            Err(error) => (ToolOutput::failure(error.0), true),
        };
        let mut finished = FinishedToolCall {
            pending: self.pending,
            output,
            is_error,
        };
        match self
            .core
            .hooks
            .after_tool_call(&finished, &self.cancel)
            .await
        {
            Ok(update) => finished.apply(update),
            Err(error) => {
                finished.output = ToolOutput::failure(error.0);
                finished.is_error = true;
            }
        }
        CallOutcome {
            output: finished.output,
            is_error: finished.is_error,
        }
    }
}
