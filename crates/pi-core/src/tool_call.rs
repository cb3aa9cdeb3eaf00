//! A tool call before and after it runs, and what hooks decide about it.

use pi_protocol::json::JsonObject;
use pi_protocol::{
    InputBlock, Request, RequestId, RequestKind, SharedMessage, ToolCall, ToolOutput, Usage,
};
use serde_json::Value;

/// A tool call before it runs.
#[derive(Clone)]
pub struct PendingToolCall {
    /// The response that contains the call.
    pub response: Option<SharedMessage>,
    /// The call as sent by the model.
    pub call: ToolCall,
    pub arguments: JsonObject,
    /// The call whose tool made this one; `None` for a call of the model.
    pub parent: Option<String>,
}

impl PendingToolCall {
    /// Creates the request for the approval of this call.
    pub fn approval_request(&self, reason: Option<String>) -> Request {
        Request {
            id: RequestId(format!("approval-{}", self.call.id)),
            call: Some(self.call.id.clone()),
            kind: RequestKind::Approval {
                tool_name: self.call.name.clone(),
                args: self.arguments.clone(),
                reason,
            },
        }
    }
}

/// What a policy decides about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Allow,
    /// Do not run the call; the model receives the reason.
    Deny(DenialReason),
    /// Run the call if a client approves it.
    Ask(Request),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DenialReason {
    /// The text sent to the model; a default if absent.
    pub text: Option<String>,
    /// Whether the denied call requests the end of the run.
    pub terminate: bool,
}

/// A tool call that hooks have seen: what they decided, and the arguments to run it with.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewedToolCall {
    pub decision: Decision,
    pub arguments: JsonObject,
}

impl ReviewedToolCall {
    pub fn allow(arguments: JsonObject) -> Self {
        Self {
            decision: Decision::Allow,
            arguments,
        }
    }

    pub fn deny(reason: DenialReason) -> Self {
        Self {
            decision: Decision::Deny(reason),
            arguments: JsonObject::new(),
        }
    }
}

/// Changes a hook makes to a result; `None` leaves the value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultUpdate {
    pub content: Option<Vec<InputBlock>>,
    pub details: Option<Value>,
    /// Removed if only `content` is replaced, which it would contradict.
    pub structured_content: Option<Value>,
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
        if update.structured_content.is_some() || update.content.is_some() {
            self.output.structured_content = update.structured_content;
        }
        if let Some(content) = update.content {
            self.output.content = content;
        }
        self.output.details = update.details.or(self.output.details.take());
        self.output.usage = update.usage.or(self.output.usage.take());
        self.output.terminate = update.terminate.or(self.output.terminate);
        self.is_error = update.is_error.unwrap_or(self.is_error);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn structured_content_is_dropped_if_only_the_content_is_replaced() {
        let text = |text: &str| Some(vec![InputBlock::text(text)]);
        for (content, structured_content, expected) in [
            (None, None, Some(json!("old"))),
            (text("new"), None, None),
            (text("new"), Some(json!("new")), Some(json!("new"))),
            (None, Some(json!("new")), Some(json!("new"))),
        ] {
            let mut finished = FinishedToolCall {
                pending: PendingToolCall {
                    response: None,
                    call: ToolCall::default(),
                    arguments: JsonObject::new(),
                    parent: None,
                },
                output: ToolOutput {
                    structured_content: Some(json!("old")),
                    ..ToolOutput::text("old")
                },
                is_error: false,
            };
            finished.apply(ToolResultUpdate {
                content,
                structured_content,
                ..ToolResultUpdate::default()
            });
            assert_eq!(finished.output.structured_content, expected);
        }
    }
}
