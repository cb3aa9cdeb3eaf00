//! Attempts to repeat a failed request.

use crate::retry_end::RetryEnd;
use std::time::Duration;

use pi_protocol::overflow::is_context_overflow;
use pi_protocol::retry::{RetryPolicy, is_retryable};
use pi_protocol::{AgentMessage, SessionEvent, SharedMessage};

#[derive(Debug, Default)]
pub(super) struct RetryState {
    pub policy: RetryPolicy,
    /// The attempt in progress; 0 if the last turn did not fail.
    attempt: u32,
}

impl RetryState {
    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the delay before the current attempt.
    pub(super) fn delay(&self) -> Duration {
        self.policy.delay(self.attempt)
    }

    /// Whether another attempt is allowed and can succeed. A context that is too large needs a compaction instead.
    pub(super) fn is_due(&self, message: &SharedMessage, context_window: u64) -> bool {
        let AgentMessage::Assistant(response) = &**message else {
            return false;
        };
        self.policy.allows(self.attempt + 1)
            && !is_context_overflow(response, context_window)
            && is_retryable(response)
    }

    /// Counts another attempt and returns the event that announces it.
    pub(super) fn begin(&mut self, failed: &SharedMessage) -> SessionEvent {
        self.attempt += 1;
        SessionEvent::AutoRetryStart {
            attempt: self.attempt,
            max_attempts: self.policy.max_retries,
            delay_ms: u64::try_from(self.delay().as_millis()).unwrap_or(u64::MAX),
            error_message: error_of(failed).unwrap_or_else(|| "no reason given".to_owned()),
        }
    }

    /// Returns the event that ends the attempts; `None` if there was none.
    pub(super) fn end(&mut self, end: RetryEnd) -> Option<SessionEvent> {
        let attempt = std::mem::take(&mut self.attempt);
        (attempt > 0).then(|| end.into_event(attempt))
    }
}

fn error_of(message: &SharedMessage) -> Option<String> {
    match &**message {
        AgentMessage::Assistant(response) => response.error_message.clone(),
        _ => None,
    }
}
