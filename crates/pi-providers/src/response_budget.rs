//! Limits for the bytes and the time of a single response. A service that is broken or hostile can send without end: repeated
//! content, comments that only keep the connection alive, a few bytes that decompress to gigabytes.
//! Real responses stay far below every limit.

use std::time::Duration;

use pi_protocol::ProviderError;
use pi_stream::response_too_large;
use tokio::time::Instant;

/// Bytes of a response after decompression. Most of a real response is the JSON around its deltas.
const MAX_RECEIVED_BYTES: usize = 256 * 1024 * 1024;

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
            return Err(response_too_large(MAX_RECEIVED_BYTES));
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
}
