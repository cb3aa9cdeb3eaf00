//! A tool call before and after it runs, and what hooks decide about it.

use pi_protocol::json::JsonObject;
use pi_protocol::{InputBlock, SharedMessage, ToolCall, ToolOutput, Usage};
use serde_json::Value;

/// A tool call before it runs.
#[derive(Clone)]
pub struct PendingToolCall {
    /// The response that contains the call.
    pub response: Option<SharedMessage>,
    /// The call as sent by the model.
    pub call: ToolCall,
    pub arguments: JsonObject,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallVerdict {
    /// Run the call with these arguments.
    Run(JsonObject),
    /// Do not run the call; the model receives the reason.
    Block {
        /// The reason sent to the model; a default if absent.
        reason: Option<String>,
        /// Whether the blocked call requests the end of the run.
        terminate: bool,
    },
}

/// Changes a hook makes to a result; `None` leaves the value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultUpdate {
    pub content: Option<Vec<InputBlock>>,
    pub details: Option<Value>,
    pub is_error: Option<bool>,
    pub usage: Option<Usage>,
    pub terminate: Option<bool>,
}

/// A tool call that has run.
#[derive(Clone)]
pub struct FinishedToolCall {
    /// The call with its validated arguments.
    pub pending: PendingToolCall,
    pub output: ToolOutput,
    pub is_error: bool,
}

impl FinishedToolCall {
    /// Applies a hook's changes.
    pub fn apply(&mut self, update: ToolResultUpdate) {
        if let Some(content) = update.content {
            self.output.content = content;
        }
        self.output.details = update.details.or(self.output.details.take());
        self.output.usage = update.usage.or(self.output.usage.take());
        self.output.terminate = update.terminate.or(self.output.terminate);
        self.is_error = update.is_error.unwrap_or(self.is_error);
    }
}
