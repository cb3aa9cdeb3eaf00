//! Calls that belong to work in progress, identified by a job number or a signal ID.

use pi_core::ExecutionMode;
use pi_protocol::{AssistantBlock, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use crate::handlers::NestedRun;

/// A tool that other tools may call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallableTool {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) execution_mode: ExecutionMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_schema: Option<Value>,
}

/// What became of a call of another tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NestedRunResult {
    pub(crate) tool_call: AssistantBlock,
    pub(crate) result: ToolOutput,
    pub(crate) is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
}

calls! {
    trait JobCalls {
        /// Cancels a job that JavaScript started with a request.
        call "job.cancel" => cancel(number: u64);
        /// Output of a shell command that an extension runs, in base64.
        call "job.output" => output(signal as "signalId": u64, data: String);
        /// Lists the tools that a running tool may call.
        call "job.callableTools" => callable_tools(signal as "signalId": u64) -> Vec<CallableTool>;
        /// Runs another tool for a running tool; failures are results.
        request "job.executeTool" => execute_tool(run as "...": NestedRun) -> NestedRunResult;
        /// A partial result of a tool.
        call "job.toolUpdate" => tool_update(signal as "signalId": u64, partial: ToolOutput);
        /// An event of a provider's response. Invalid events are ignored, not errors.
        call "job.providerEvent" => provider_event(signal as "signalId": u64, event: Value);
    }
}
