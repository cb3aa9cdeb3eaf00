//! Calls that belong to work in progress, identified by a job number or a signal ID.

use pi_protocol::ToolOutput;
use serde_json::Value;

use super::group::calls;

calls! {
    trait JobCalls {
        /// Cancels a job that JavaScript started with a request.
        call "job.cancel" => cancel(number: u64);
        /// Output of a shell command that an extension runs, in base64.
        call "job.output" => output(signal as "signalId": u64, data: String);
        /// A partial result of a tool.
        call "job.toolUpdate" => tool_update(signal as "signalId": u64, partial: ToolOutput);
        /// An event of a provider's response. Invalid events are ignored, not errors.
        call "job.providerEvent" => provider_event(signal as "signalId": u64, event: Value);
    }
}
