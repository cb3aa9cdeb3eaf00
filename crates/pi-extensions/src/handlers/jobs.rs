//! Handles calls that belong to work in progress.

use pi_ext::HostError;
use pi_protocol::ToolOutput;
use serde_json::Value;

use super::Caller;
use crate::bridge::lock;
use crate::calls::JobCalls;

impl JobCalls for Caller<'_> {
    fn cancel(&self, number: u64) -> Result<(), HostError> {
        self.bridge.cancel_job(number);
        Ok(())
    }

    fn output(&self, signal: u64, data: String) -> Result<(), HostError> {
        if let Some(output) = lock(&self.bridge.streams.outputs).get(&signal) {
            // The reader may have been dropped.
            output.send(data).ok();
        }
        Ok(())
    }

    fn tool_update(&self, signal: u64, partial: ToolOutput) -> Result<(), HostError> {
        if let Some(updates) = lock(&self.bridge.streams.updates).get(&signal) {
            updates.send(partial);
        }
        Ok(())
    }

    fn provider_event(&self, signal: u64, event: Value) -> Result<(), HostError> {
        if let Some(responses) = lock(&self.bridge.streams.responses).get(&signal) {
            // The reader may have been dropped.
            responses.send(event).ok();
        }
        Ok(())
    }
}
