//! Validates and runs the tool calls of a lane.

use std::sync::Arc;

use futures_util::future::select_all;
use pi_protocol::json::JsonObject;
use pi_protocol::{RequestId, RequestKind, ToolCall, ToolOutput};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::backend::Backend;
use super::duration::elapsed_ms;
use crate::machine::{CallOutcome, CancelScope, Outcome, PreflightOutcome};
use crate::start_order::StartOrder;
use crate::tool::{Progress, Tool, ToolContext, ToolError};
use crate::tool_call::{Decision, FinishedToolCall, PendingToolCall, ReviewedToolCall};

/// Result of a call that a hook blocked without giving a reason.
const BLOCKED_CALL: &str = "Tool execution was blocked";

/// The tools a lane is running, and the requests of calls it waits for. They end with it.
pub(super) struct RunningTools<B> {
    tasks: JoinSet<CallOutcome>,
    calls: Vec<RunningCall>,
    asked: Vec<AskedRequest>,
    /// Calls start in the order of the response: tools of an extension share state and see their calls in this order.
    order: StartOrder,
    backend: std::marker::PhantomData<B>,
}

struct RunningCall {
    index: usize,
    task: tokio::task::Id,
    progress: Progress,
}

struct AskedRequest {
    id: RequestId,
    answered: CancellationToken,
}

impl<B> Default for RunningTools<B> {
    fn default() -> Self {
        Self {
            tasks: JoinSet::new(),
            calls: Vec::new(),
            asked: Vec::new(),
            order: StartOrder::default(),
            backend: std::marker::PhantomData,
        }
    }
}

impl<B: Backend> RunningTools<B> {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.asked.is_empty()
    }

    /// Waits for the answer to a request.
    pub(super) fn ask(&mut self, backend: &B, id: RequestId) {
        let answered = backend.control().answered(&id);
        self.asked.push(AskedRequest { id, answered });
    }

    pub(super) fn start(
        &mut self,
        backend: &B,
        index: usize,
        call: ToolCall,
        arguments: JsonObject,
    ) {
        let span = tracing::info_span!("tool", id = %call.id, name = %call.name);
        span.in_scope(|| tracing::debug!("tool started"));
        let cancel = backend.control().begin(CancelScope::Run).child_token();
        let cx = ToolContext {
            cancel,
            ..backend.tool_context(&call)
        };
        let progress = cx.progress.clone();
        let response = backend.control().machine().running_response();
        let execution = ToolExecution {
            backend: backend.clone(),
            tool: backend.tool(&call.name),
            pending: PendingToolCall {
                response,
                call,
                arguments,
                parent: None,
            },
            cx,
        };
        let running = self.order.add(execution.run());
        let task = self.tasks.spawn(running.instrument(span)).id();
        self.calls.push(RunningCall {
            index,
            task,
            progress,
        });
    }

    /// Waits until a tool reports progress or finishes, or a request is answered.
    pub(super) async fn next(&mut self, backend: &B) -> Vec<Outcome> {
        let updates = first_of(self.calls.iter().map(|call| call.progress.next()));
        let answers = first_of(self.asked.iter().map(|asked| asked.answered.cancelled()));
        tokio::select! {
            biased;
            (partial, place) = updates => {
                let call = self.calls.get(place);
                let outcome = call.map(|call| Outcome::ToolUpdated(call.index, partial));
                outcome.into_iter().collect()
            }
            Some(joined) = self.tasks.join_next_with_id() => self.ended(backend, joined),
            ((), place) = answers => {
                let AskedRequest { id, .. } = self.asked.remove(place);
                backend.control().forget_request(&id);
                vec![Outcome::Answered(id)]
            }
        }
    }

    fn ended(
        &mut self,
        backend: &B,
        joined: Result<(tokio::task::Id, CallOutcome), JoinError>,
    ) -> Vec<Outcome> {
        let (task, outcome) = joined.unwrap_or_else(|error| {
            tracing::error!(%error, "tool panicked");
            backend.on_panic(&error.to_string());
            let output = ToolOutput::failure("The tool crashed. This is a bug in the tool.");
            (error.id(), CallOutcome::error(output))
        });
        let Some(place) = self.calls.iter().position(|call| call.task == task) else {
            return Vec::new();
        };
        let call = self.calls.swap_remove(place);
        // Partial results are published before the end of the call.
        let partial = std::iter::from_fn(|| call.progress.take());
        partial
            .map(|partial| Outcome::ToolUpdated(call.index, partial))
            .chain([Outcome::ToolFinished(call.index, outcome)])
            .collect()
    }
}

/// Waits for the first of several futures; for ever if there are none.
async fn first_of<F: Future>(futures: impl Iterator<Item = F>) -> (F::Output, usize) {
    let futures: Vec<_> = futures.map(Box::pin).collect();
    if futures.is_empty() {
        return std::future::pending().await;
    }
    let (output, place, _) = select_all(futures).await;
    (output, place)
}

/// Validates a call of the model and lets the hooks decide about it.
pub(super) async fn preflight<B: Backend>(backend: &B, call: ToolCall) -> PreflightOutcome {
    let tool = backend.tool(&call.name);
    let cancel = backend.control().begin(CancelScope::Run);
    check_call(backend, tool, call, None, &cancel).await
}

/// Validates a call and lets the hooks decide about it.
pub(super) async fn check_call<B: Backend>(
    backend: &B,
    tool: Option<Arc<dyn Tool>>,
    call: ToolCall,
    parent: Option<String>,
    cancel: &CancellationToken,
) -> PreflightOutcome {
    let refuse = |text: String| PreflightOutcome::Refused(ToolOutput::failure(text));
    let Some(tool) = tool else {
        return refuse(format!("Tool {} not found", call.name));
    };
    if let Some(error) = call.arguments_error() {
        return refuse(format!(
            "This call was not run: {error}. Repeat the call with complete arguments."
        ));
    }
    let aborted = || PreflightOutcome::Refused(ToolOutput::aborted());
    // Preparing a schema takes time that an aborted run does not have.
    if cancel.is_cancelled() {
        return aborted();
    }
    let prepared = match tool.prepare(call.arguments.clone()).await {
        Ok(prepared) => prepared,
        Err(error) => return refuse(error.0),
    };
    let validators = &backend.control().validators;
    let arguments = match validators.check(tool.declaration(), prepared) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(error.to_string()),
    };
    let pending = PendingToolCall {
        response: backend.control().machine().running_response(),
        call,
        arguments,
        parent,
    };
    let reviewed = backend.before_tool_call(pending.clone(), cancel).await;
    if cancel.is_cancelled() {
        return aborted();
    }
    let ReviewedToolCall {
        decision,
        arguments,
    } = match reviewed {
        Ok(reviewed) => reviewed,
        Err(error) => return refuse(error.0),
    };
    match decision {
        Decision::Allow => PreflightOutcome::Ready(arguments),
        Decision::Deny(reason) => {
            let text = reason.text.unwrap_or_else(|| BLOCKED_CALL.to_owned());
            let mut output = ToolOutput::failure(text);
            output.terminate = reason.terminate.then_some(true);
            PreflightOutcome::Refused(output)
        }
        Decision::Ask(mut request) => {
            request.call = Some(pending.call.id);
            // Hooks may have changed the arguments since the request was made; a client approves those that run.
            if let RequestKind::Approval { args, .. } = &mut request.kind {
                args.clone_from(&arguments);
            }
            PreflightOutcome::Asks { request, arguments }
        }
    }
}

/// One call, from its start to the outcome after the hooks.
pub(super) struct ToolExecution<B> {
    pub(super) backend: B,
    pub(super) tool: Option<Arc<dyn Tool>>,
    pub(super) pending: PendingToolCall,
    pub(super) cx: ToolContext,
}

impl<B: Backend> ToolExecution<B> {
    pub(super) async fn run(self) -> CallOutcome {
        let started = Instant::now();
        let ran = match &self.tool {
            Some(tool) => {
                let arguments = self.pending.arguments.clone();
                tool.call(self.cx.clone(), arguments).await
            }
            None => Err(ToolError::new(
                "the tool was removed before the call started",
            )),
        };
        let duration_ms = Some(elapsed_ms(started));
        self.cx.progress.close();
        let (output, is_error) = match ran {
            Ok(output) => {
                let is_error = output.is_error == Some(true);
                (output, is_error)
            }
            Err(error) => (ToolOutput::failure(error.0), true),
        };
        let mut finished = FinishedToolCall {
            pending: self.pending,
            output,
            is_error,
        };
        match self
            .backend
            .after_tool_call(&finished, &self.cx.cancel)
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
            duration_ms,
            nested: self.cx.nested.summary(),
        }
    }
}
