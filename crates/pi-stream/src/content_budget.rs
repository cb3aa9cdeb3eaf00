//! Limits for the content of a single response. Real responses stay far below them; a broken or hostile service can
//! send without end.

use pi_protocol::{AssistantMessageEvent, ProviderError};

/// Bytes of text, thinking and arguments in a message.
const MAX_CONTENT_BYTES: usize = 32 * 1024 * 1024;

const MAX_TOOL_CALLS: usize = 10_000;

/// What a message has used of its content.
#[derive(Debug, Default)]
pub(crate) struct ContentBudget {
    bytes: usize,
    tool_calls: usize,
}

impl ContentBudget {
    pub(crate) fn count(&mut self, events: &[AssistantMessageEvent]) {
        for event in events {
            match event {
                AssistantMessageEvent::TextDelta { delta, .. }
                | AssistantMessageEvent::ThinkingDelta { delta, .. }
                | AssistantMessageEvent::ToolCallDelta { delta, .. } => {
                    self.bytes = self.bytes.saturating_add(delta.len());
                }
                AssistantMessageEvent::ToolCallStart { .. } => self.tool_calls += 1,
                _ => {}
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), ProviderError> {
        if self.bytes > MAX_CONTENT_BYTES {
            return Err(response_too_large(MAX_CONTENT_BYTES));
        }
        if self.tool_calls > MAX_TOOL_CALLS {
            return Err(ProviderError::protocol(format!(
                "The response has more than {MAX_TOOL_CALLS} tool calls"
            )));
        }
        Ok(())
    }
}

/// Returns the error for a response with more bytes than the limit.
pub fn response_too_large(limit: usize) -> ProviderError {
    let limit = limit / (1024 * 1024);
    ProviderError::protocol(format!("The response is larger than {limit} MiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_calls_are_limited() {
        let delta = |length: usize| AssistantMessageEvent::TextDelta {
            content_index: 0,
            delta: "a".repeat(length),
        };
        let call = || AssistantMessageEvent::ToolCallStart {
            content_index: 0,
            id: String::new(),
            tool_name: String::new(),
        };
        let mut budget = ContentBudget::default();
        budget.count(&[delta(MAX_CONTENT_BYTES - 1), delta(1)]);
        assert_eq!(budget.check(), Ok(()));
        budget.count(&[delta(1)]);
        let message = budget.check().unwrap_err().message;
        assert_eq!(message, "The response is larger than 32 MiB");
        let mut budget = ContentBudget::default();
        for _ in 0..MAX_TOOL_CALLS {
            budget.count(&[call()]);
        }
        assert_eq!(budget.check(), Ok(()));
        budget.count(&[call()]);
        let message = budget.check().unwrap_err().message;
        assert_eq!(message, "The response has more than 10000 tool calls");
    }
}
