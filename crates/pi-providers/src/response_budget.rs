//! Limits for a single response. A service that is broken or hostile can send without end: repeated
//! content, comments that only keep the connection alive, a few bytes that decompress to gigabytes.
//! Real responses stay far below every limit.

use std::time::Duration;

use pi_protocol::{AssistantMessageEvent, ProviderError};
use tokio::time::Instant;

/// Bytes of a response after decompression. Most of a real response is the JSON around its deltas.
const MAX_RECEIVED_BYTES: usize = 256 * 1024 * 1024;

/// Bytes of text, thinking and arguments in a message.
const MAX_CONTENT_BYTES: usize = 32 * 1024 * 1024;

const MAX_TOOL_CALLS: usize = 10_000;

/// A response without content ends after this many idle timeouts, even if it sends something else.
/// Services that think for long send comments or pings meanwhile, so a short timeout does not shorten
/// this limit below its minimum.
const IDLE_TIMEOUTS_WITHOUT_CONTENT: u32 = 6;
const MIN_TIME_WITHOUT_CONTENT: Duration = Duration::from_mins(10);

/// A response ends after this many idle timeouts, but not before its minimum.
const IDLE_TIMEOUTS_IN_TOTAL: u32 = 36;
const MIN_TOTAL_TIME: Duration = Duration::from_hours(1);

/// What a response has used of its bytes and time.
#[derive(Debug)]
pub(crate) struct TransportBudget {
    received_bytes: usize,
    started: Instant,
    last_content: Instant,
    idle_timeout: Option<Duration>,
}

impl TransportBudget {
    /// Starts to count. Without an idle timeout, time is not limited.
    pub(crate) fn new(idle_timeout: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            received_bytes: 0,
            started: now,
            last_content: now,
            idle_timeout,
        }
    }

    /// Counts decompressed bytes.
    pub(crate) fn receive(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.received_bytes = self.received_bytes.saturating_add(bytes);
        if self.received_bytes > MAX_RECEIVED_BYTES {
            return Err(too_large(MAX_RECEIVED_BYTES));
        }
        Ok(())
    }

    /// Checks the time after what was received is decoded; `has_content` is whether it changed the
    /// message.
    pub(crate) fn check_time(&mut self, has_content: bool) -> Result<(), ProviderError> {
        let Some(idle) = self.idle_timeout else {
            return Ok(());
        };
        let now = Instant::now();
        if has_content {
            self.last_content = now;
        }
        let without_content = idle
            .saturating_mul(IDLE_TIMEOUTS_WITHOUT_CONTENT)
            .max(MIN_TIME_WITHOUT_CONTENT);
        if now - self.last_content > without_content {
            return Err(ProviderError::network(format!(
                "The response had no content for {without_content:?} and timed out"
            )));
        }
        let total = idle
            .saturating_mul(IDLE_TIMEOUTS_IN_TOTAL)
            .max(MIN_TOTAL_TIME);
        if now - self.started > total {
            return Err(ProviderError::network(format!(
                "The response was not complete after {total:?} and timed out"
            )));
        }
        Ok(())
    }
}

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
            return Err(too_large(MAX_CONTENT_BYTES));
        }
        if self.tool_calls > MAX_TOOL_CALLS {
            return Err(ProviderError::protocol(format!(
                "The response has more than {MAX_TOOL_CALLS} tool calls"
            )));
        }
        Ok(())
    }
}

fn too_large(limit: usize) -> ProviderError {
    let limit = limit / (1024 * 1024);
    ProviderError::protocol(format!("The response is larger than {limit} MiB"))
}

#[cfg(test)]
mod tests {
    use pi_protocol::ErrorClass;

    use super::*;

    const IDLE: Duration = Duration::from_mins(5);

    #[test]
    fn bytes_are_limited_after_decompression() {
        let mut budget = TransportBudget::new(None);
        assert_eq!(budget.receive(MAX_RECEIVED_BYTES), Ok(()));
        let error = budget.receive(1).unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol);
        assert_eq!(error.message, "The response is larger than 256 MiB");
    }

    #[tokio::test(start_paused = true)]
    async fn pings_do_not_extend_a_response_forever() {
        let mut budget = TransportBudget::new(Some(IDLE));
        for _ in 0..6 {
            tokio::time::advance(IDLE).await;
            assert_eq!(budget.check_time(false), Ok(()));
        }
        tokio::time::advance(IDLE).await;
        let error = budget.check_time(false).unwrap_err();
        assert_eq!(error.class, ErrorClass::Network);
        let expected = "The response had no content for 1800s and timed out";
        assert_eq!(error.message, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn content_does_not_extend_a_response_forever() {
        let mut budget = TransportBudget::new(Some(IDLE));
        for _ in 0..36 {
            tokio::time::advance(IDLE).await;
            assert_eq!(budget.check_time(true), Ok(()));
        }
        tokio::time::advance(IDLE).await;
        let error = budget.check_time(true).unwrap_err();
        let expected = "The response was not complete after 10800s and timed out";
        assert_eq!(error.message, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_idle_timeout_does_not_shorten_a_long_response() {
        let mut budget = TransportBudget::new(Some(Duration::from_secs(1)));
        tokio::time::advance(MIN_TIME_WITHOUT_CONTENT).await;
        assert_eq!(budget.check_time(true), Ok(()));
        tokio::time::advance(MIN_TOTAL_TIME.saturating_sub(MIN_TIME_WITHOUT_CONTENT)).await;
        assert_eq!(budget.check_time(true), Ok(()));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(budget.check_time(true).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn time_is_unlimited_without_an_idle_timeout() {
        let mut budget = TransportBudget::new(None);
        tokio::time::advance(Duration::from_hours(1000)).await;
        assert_eq!(budget.check_time(false), Ok(()));
    }

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
