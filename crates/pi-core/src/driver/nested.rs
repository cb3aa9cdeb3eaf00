//! Runs the calls of other tools that a tool makes: checked and hooked like calls of the model, but outside of the
//! machine, since they are no part of the transcript.

use std::sync::Arc;

use pi_protocol::{AgentEvent, Answer, Request, SessionEvent, ToolCall, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::emit;
use super::tools::{ToolExecution, check_call};
use crate::machine::{CallOutcome, DENIED_CALL, PreflightOutcome};
use crate::tool::{ExecutionMode, NestedToolCall, NestedToolResult, Progress, Tool, ToolContext};
use crate::tool_call::PendingToolCall;

/// Runs another tool for a call in progress. Failures are results.
pub async fn run_nested_call<B: Backend>(
    backend: &B,
    caller: &ToolContext,
    nested: NestedToolCall,
) -> NestedToolResult {
    let call = ToolCall {
        id: caller.nested.next_id(&caller.call),
        name: nested.name,
        arguments: nested.arguments,
        ..ToolCall::default()
    };
    let parent = caller.call.to_string();
    let recorded = caller.nested.start(&call);
    let events = NestedEvents {
        backend,
        call: &call,
        parent: &parent,
    };
    events.started().await;

    let tool = backend.callable_tool(&call.name);
    let must_run_alone = must_run_alone(backend, tool.as_deref()) && !caller.nested.is_exclusive();
    let control = backend.control();
    let turn = if must_run_alone {
        Some(control.nested_order.lock().await)
    } else {
        None
    };
    let cancel = caller.cancel.child_token();
    let scope = caller.nested.below(must_run_alone);
    let running = Box::pin(run(
        backend,
        tool,
        PendingToolCall {
            response: control.machine().running_response(),
            arguments: call.arguments.clone(),
            call: call.clone(),
            parent: Some(parent.clone()),
        },
        ToolContext {
            cancel: cancel.clone(),
            nested: scope,
            ..backend.tool_context(&call)
        },
        (&events, &nested.updates),
    ));
    let outcome = canceled_with(running, &nested.cancel, &cancel).await;
    drop(turn);
    caller
        .nested
        .finish(&recorded, &outcome.output, outcome.is_error);
    events.ended(&outcome).await;
    NestedToolResult {
        call,
        output: outcome.output,
        is_error: outcome.is_error,
        duration_ms: outcome.duration_ms,
    }
}

fn must_run_alone<B: Backend>(backend: &B, tool: Option<&dyn Tool>) -> bool {
    let mode = backend.control().machine().selection().execution_mode;
    mode == ExecutionMode::Sequential
        || tool.is_some_and(|tool| tool.execution_mode() == ExecutionMode::Sequential)
}

/// Awaits work to its end, and cancels it when `outer` is canceled.
async fn canceled_with<T>(
    work: impl Future<Output = T>,
    outer: &CancellationToken,
    cancel: &CancellationToken,
) -> T {
    // Before the work starts, so that a call that is already canceled does not run.
    if outer.is_cancelled() {
        cancel.cancel();
    }
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = outer.cancelled() => cancel.cancel(),
    }
    work.await
}

async fn run<B: Backend>(
    backend: &B,
    tool: Option<Arc<dyn Tool>>,
    pending: PendingToolCall,
    cx: ToolContext,
    (events, updates): (&NestedEvents<'_, B>, &Progress),
) -> CallOutcome {
    let call = pending.call.clone();
    let checked = check_call(
        backend,
        tool.clone(),
        call,
        pending.parent.clone(),
        &cx.cancel,
    );
    let arguments = match checked.await {
        PreflightOutcome::Ready(arguments) => arguments,
        PreflightOutcome::Refused(output) => return CallOutcome::error(output),
        PreflightOutcome::Asks { request, arguments } => {
            match ask(backend, request, &cx.cancel).await {
                None => arguments,
                Some(refusal) => return CallOutcome::error(refusal),
            }
        }
    };
    let progress = cx.progress.clone();
    let execution = ToolExecution {
        backend: backend.clone(),
        tool,
        pending: PendingToolCall {
            arguments,
            ..pending
        },
        cx,
    };
    let mut running = std::pin::pin!(execution.run());
    let mut outcome = loop {
        tokio::select! {
            biased;
            partial = progress.next() => events.updated(updates, partial).await,
            outcome = &mut running => break outcome,
        }
    };
    while let Some(partial) = progress.take() {
        events.updated(updates, partial).await;
    }
    // Calls below this one are recorded on the result of the model's call.
    outcome.nested = crate::tool::NestedSummary::default();
    outcome
}

/// Asks whether the call may run; returns the result of a call that may not.
async fn ask<B: Backend>(
    backend: &B,
    request: Request,
    cancel: &CancellationToken,
) -> Option<ToolOutput> {
    let answer = cancel.run_until_cancelled(backend.ask_approval(request));
    match answer.await {
        Some(Answer::Allow | Answer::AllowForSession) => None,
        Some(Answer::Deny { reason }) => {
            let reason = reason.unwrap_or_else(|| DENIED_CALL.to_owned());
            Some(ToolOutput::failure(reason))
        }
        _ => Some(ToolOutput::aborted()),
    }
}

/// Emits the events of one nested call.
struct NestedEvents<'a, B> {
    backend: &'a B,
    call: &'a ToolCall,
    parent: &'a str,
}

impl<B: Backend> NestedEvents<'_, B> {
    async fn emit(&self, event: AgentEvent) {
        emit(self.backend, SessionEvent::Agent(event)).await;
    }

    fn arguments(&self) -> Value {
        Value::Object(self.call.arguments.clone())
    }

    async fn started(&self) {
        self.emit(AgentEvent::ToolExecutionStart {
            tool_call_id: self.call.id.clone(),
            tool_name: self.call.name.clone(),
            args: self.arguments(),
            parent_tool_call_id: Some(self.parent.to_owned()),
        })
        .await;
    }

    /// Passes a partial result to the caller, then emits it.
    async fn updated(&self, updates: &Progress, partial: ToolOutput) {
        updates.send(partial.clone());
        self.emit(AgentEvent::ToolExecutionUpdate {
            tool_call_id: self.call.id.clone(),
            tool_name: self.call.name.clone(),
            args: self.arguments(),
            partial_result: Box::new(partial),
            parent_tool_call_id: Some(self.parent.to_owned()),
        })
        .await;
    }

    async fn ended(&self, outcome: &CallOutcome) {
        self.emit(AgentEvent::ToolExecutionEnd {
            tool_call_id: self.call.id.clone(),
            tool_name: self.call.name.clone(),
            result: Box::new(outcome.output.clone()),
            is_error: outcome.is_error,
            duration_ms: outcome.duration_ms,
            parent_tool_call_id: Some(self.parent.to_owned()),
        })
        .await;
    }
}
