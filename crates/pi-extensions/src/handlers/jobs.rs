//! Handles calls that belong to work in progress.

use pi_ext::HostError;
use pi_protocol::ToolOutput;
use serde_json::Value;

use super::Caller;
use super::nested_calls::{NestedRun, callable_tool};
use crate::calls::{CallableTool, JobCalls, NestedRunResult, Pending};

impl JobCalls for Caller<'_> {
    fn cancel(&self, number: u64) -> Result<(), HostError> {
        self.bridge.cancel_job(number);
        Ok(())
    }

    fn output(&self, signal: u64, data: String) -> Result<(), HostError> {
        if let Some(output) = self.bridge.streams.outputs.lock().get(&signal) {
            // The reader may have been dropped.
            output.send(data).ok();
        }
        Ok(())
    }

    fn tool_update(&self, signal: u64, partial: ToolOutput) -> Result<(), HostError> {
        if let Some(call) = self.bridge.tool_call(signal) {
            call.progress.send(partial);
        }
        Ok(())
    }

    fn callable_tools(&self, signal: u64) -> Result<Vec<CallableTool>, HostError> {
        self.bridge.check_not_stale()?;
        let call = self.bridge.tool_call(signal);
        let tools = call.map(|call| call.session.callable_tools());
        Ok(tools.into_iter().flatten().map(callable_tool).collect())
    }

    fn execute_tool(&self, run: NestedRun) -> Result<Pending<NestedRunResult>, HostError> {
        self.bridge.check_not_stale()?;
        self.execute_nested(run)
    }

    fn provider_event(&self, signal: u64, event: Value) -> Result<(), HostError> {
        if let Some(responses) = self.bridge.streams.responses.lock().get(&signal) {
            // The reader may have been dropped.
            responses.send(event).ok();
        }
        Ok(())
    }
}
