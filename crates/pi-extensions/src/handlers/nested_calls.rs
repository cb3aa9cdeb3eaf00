//! Calls of other tools that an extension's tool makes while it runs.

use pi_core::{NestedToolCall, NestedToolResult, RegisteredTool};
use pi_ext::HostError;
use pi_protocol::{AssistantBlock, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use super::Caller;
use crate::callbacks::PartialResult;
use crate::calls::{CallableTool, NestedRunResult, Pending};
use crate::jobs::JobCallback;

/// Result of a call that a tool makes after it has ended.
const CALLER_ENDED: &str = "This call was not run: the tool call that makes it has ended.";

/// Result of a call whose arguments are not an object.
const NO_OBJECT: &str = "This call was not run: the arguments must be an object.";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NestedRun {
    number: u64,
    /// Identifies the call that makes this one.
    signal_id: u64,
    call_id: String,
    name: String,
    arguments: Value,
    /// Whether the call was canceled before it was made.
    is_aborted: bool,
}

impl NestedRun {
    fn refused(self, reason: &str) -> NestedToolResult {
        let call = ToolCall {
            id: format!("{}/0", self.call_id),
            name: self.name,
            ..ToolCall::default()
        };
        NestedToolResult::refused(call, reason)
    }
}

impl Caller<'_> {
    pub(super) fn execute_nested(
        &self,
        mut run: NestedRun,
    ) -> Result<Pending<NestedRunResult>, HostError> {
        let callback = self.bridge.callback(self.extension, run.number)?;
        let job = self.bridge.start_job(run.number)?;
        if run.is_aborted {
            job.cancel().cancel();
        }
        let caller = self.bridge.tool_call(run.signal_id);
        Ok(self.bridge.spawn_on_runtime(async move {
            let Some(caller) = caller else {
                return Ok(reply(run.refused(CALLER_ENDED)));
            };
            let Value::Object(arguments) = run.arguments.take() else {
                return Ok(reply(run.refused(NO_OBJECT)));
            };
            let call = NestedToolCall {
                cancel: job.cancel(),
                ..NestedToolCall::new(run.name, arguments)
            };
            let updates = call.updates.clone();
            let mut running = std::pin::pin!(caller.execute_tool(call));
            let result = loop {
                tokio::select! {
                    biased;
                    partial = updates.next() => show(&callback, PartialResult(partial)).await,
                    result = &mut running => break result,
                }
            };
            while let Some(partial) = updates.take() {
                show(&callback, PartialResult(partial)).await;
            }
            Ok(reply(result))
        }))
    }
}

async fn show(callback: &JobCallback, partial: PartialResult) {
    if let Err(error) = callback.run(&partial).await {
        tracing::debug!(%error, "cannot forward partial result to extension");
    }
}

fn reply(result: NestedToolResult) -> NestedRunResult {
    NestedRunResult {
        tool_call: AssistantBlock::ToolCall(result.call),
        result: result.output,
        is_error: result.is_error,
        duration_ms: result.duration_ms,
    }
}

pub(super) fn callable_tool(tool: RegisteredTool) -> CallableTool {
    let declaration = tool.tool.declaration();
    CallableTool {
        name: declaration.name.clone(),
        label: tool.tool.label().to_owned(),
        description: declaration.description.clone(),
        parameters: declaration.parameters.clone(),
        execution_mode: tool.tool.execution_mode(),
        output_schema: tool.metadata.output_schema,
    }
}
