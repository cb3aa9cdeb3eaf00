//! One call of a batch.

use pi_protocol::json::JsonObject;
use pi_protocol::{AgentEvent, Answer, Request, ToolCall, ToolOutput, ToolResultMessage};
use serde_json::Value;

use crate::tool::NestedSummary;

#[derive(Debug, Clone)]
pub struct CallOutcome {
    pub output: ToolOutput,
    pub is_error: bool,
    /// How long the tool ran; `None` if it did not.
    pub duration_ms: Option<u64>,
    /// The calls of other tools that the tool made.
    pub nested: NestedSummary,
}

impl CallOutcome {
    pub(crate) fn error(output: ToolOutput) -> Self {
        Self {
            output,
            is_error: true,
            duration_ms: None,
            nested: NestedSummary::default(),
        }
    }

    pub(super) fn aborted() -> Self {
        Self::error(ToolOutput::aborted())
    }
}

/// A call and its outcome, ready to become a message.
#[derive(Debug, Clone)]
pub(in crate::machine) struct ToolCallResult {
    call: ToolCall,
    outcome: CallOutcome,
}

impl ToolCallResult {
    pub(super) fn new(call: ToolCall, outcome: CallOutcome) -> Self {
        Self { call, outcome }
    }

    pub(in crate::machine) fn into_message(self, timestamp: i64) -> ToolResultMessage {
        let nested = self.outcome.nested;
        let usage = match (self.outcome.output.usage, nested.usage) {
            (Some(own), Some(nested)) => Some(own.plus(&nested)),
            (own, nested) => own.or(nested),
        };
        ToolResultMessage {
            tool_call_id: self.call.id,
            tool_name: self.call.name,
            content: self.outcome.output.content,
            details: self.outcome.output.details,
            usage,
            nested_calls: nested.calls,
            is_error: self.outcome.is_error,
            duration_ms: self.outcome.duration_ms,
            timestamp,
            ..ToolResultMessage::default()
        }
    }
}

#[derive(Debug)]
pub(super) enum CallState {
    Waiting,
    /// `Preflight` is in progress.
    Checking,
    /// A client must approve the call.
    Asking {
        request: Request,
        arguments: JsonObject,
        /// The first answer, until the run continues with it.
        answer: Option<Answer>,
    },
    Ready(JsonObject),
    /// The supervisor of the session decides whether the call runs.
    Held(JsonObject),
    /// `Execute` is in progress.
    Running,
    Finished(CallOutcome),
}

impl CallState {
    /// Whether the call has started and not finished.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Checking
            | Self::Asking { .. }
            | Self::Ready(_)
            | Self::Held(_)
            | Self::Running => true,
            Self::Waiting | Self::Finished(_) => false,
        }
    }
}

pub(super) fn start_event(call: &ToolCall) -> AgentEvent {
    AgentEvent::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: Value::Object(call.arguments.clone()),
        parent_tool_call_id: None,
    }
}

pub(super) fn end_event(call: &ToolCall, outcome: &CallOutcome) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: Box::new(outcome.output.clone()),
        is_error: outcome.is_error,
        duration_ms: outcome.duration_ms,
        parent_tool_call_id: None,
    }
}
