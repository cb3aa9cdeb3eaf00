//! Which failed turns are worth retrying, and when.
//!
//! This is the retry of an entire turn, available to all front ends; the transport retries requests
//! that got no response. Sessions store only the error message, so it decides here: account limits
//! first, which waiting does not lift, then transient errors.

use std::time::Duration;

use crate::message::AssistantMessage;
use crate::stop_reason::StopReason;
use crate::text_pattern::any_matches;

/// Messages about limits of an account or budget; see [`crate::text_pattern`] for the syntax.
const ACCOUNT_LIMITS: [&str; 11] = [
    "gousagelimiterror",
    "freeusagelimiterror",
    "monthly usage limit reached",
    "available balance",
    "insufficient_quota",
    "out of budget",
    "quota exceeded",
    "billing",
    "subscription_sharing_usage_limit_exceeded",
    "subscription_sharing_workplace_individual_usage_limit_exceeded",
    // Z.ai: the usage limit of the plan, which lasts hours.
    "\"code\"?:?[\"]1308>",
];

/// Messages about transient failures of the service, the connection or the stream.
const TRANSIENT_ERRORS: [&str; 58] = [
    "overloaded",
    "server_busy",
    "servers are currently busy",
    "model is at capacity",
    "currently experiencing high demand",
    "rate?limit",
    "too many requests",
    "<429>",
    "<500>",
    "<502>",
    "<503>",
    "<504>",
    "<520>",
    "<524>",
    "service?[is ][temporarily ]unavailable",
    "server?error",
    "internal?error",
    "provider?returned?[an ]error",
    "exceeded request buffer limit while retrying upstream",
    "unable to forward upstream",
    "upstream?request?failed",
    "upstream_stream_read_error",
    "stream was interrupted",
    "http[/]2 stream failed",
    "network?error",
    "connection?error",
    "connection?refused",
    "connection?lost",
    "other side closed",
    "fetch failed",
    "request to * failed, reason:",
    "getaddrinfo",
    "enotfound",
    "eai_again",
    "upstream?connect",
    "reset before headers",
    "socket hang up",
    "socket connection was closed",
    "time[d] out",
    "timeout",
    "terminated",
    "websocket?closed",
    "websocket?error",
    "ended without",
    "stream ended before message_stop",
    "stream ended before a terminal response event",
    "http2 request did not get a response",
    "stream disconnected before completion",
    "pending stream has been canceled",
    "retry delay",
    "you can retry your request",
    "try your request again",
    "please retry your request",
    "resourceexhausted",
    "subscription_sharing_usage_unavailable",
    "subscription_sharing_user_unavailable",
    "throttling error",
    "connection reset",
];

/// Returns whether a failed turn may succeed when retried.
///
/// Context overflow is handled separately; callers check [`crate::overflow`] first.
pub fn is_retryable(message: &AssistantMessage) -> bool {
    message.stop_reason == StopReason::Error
        && message
            .error_message
            .as_deref()
            .is_some_and(|text| !is_account_limit(text) && any_matches(&TRANSIENT_ERRORS, text))
}

/// Returns whether an error message is about an account limit that waiting does not lift.
pub fn is_account_limit(text: &str) -> bool {
    any_matches(&ACCOUNT_LIMITS, text)
}

/// How often a failed turn is retried, and after what delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    pub enabled: bool,
    /// Maximum number of retries.
    pub max_retries: u32,
    /// Delay before the first retry; doubles with each retry.
    pub base_delay: Duration,
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// Returns the delay before the given retry, counted from 1.
    pub fn delay(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
        self.base_delay.saturating_mul(factor).min(self.max_delay)
    }

    /// Returns whether the given retry, counted from 1, is allowed.
    pub fn allows(&self, attempt: u32) -> bool {
        self.enabled && attempt <= self.max_retries
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn failed(text: &str) -> AssistantMessage {
        AssistantMessage {
            stop_reason: StopReason::Error,
            error_message: Some(text.into()),
            ..AssistantMessage::default()
        }
    }

    #[test]
    fn transient_errors_are_retried() {
        for text in [
            r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "This model is currently experiencing high demand",
            "rate_limit_error: slow down",
            "Too Many Requests",
            "429 status code (no body)",
            "500 oops",
            "502 Bad Gateway",
            "503",
            "504",
            "520 unknown",
            "524 a timeout occurred",
            "Service Unavailable: the model is busy",
            "server_error: try later",
            "Internal error encountered.",
            "Provider returned error",
            "exceeded request buffer limit while retrying upstream",
            "Network error",
            "Connection error: dns failed",
            "connect: Connection refused (os error 111)",
            "connection lost",
            "other side closed",
            "TypeError: fetch failed",
            "getaddrinfo ENOTFOUND api.example.com",
            "EAI_AGAIN",
            "upstream connect error or disconnect",
            "reset before headers",
            "socket hang up",
            "The socket connection was closed unexpectedly",
            "Request timed out",
            "the read will time out",
            "Idle timeout",
            "terminated",
            "WebSocket closed 1006",
            "websocket error",
            "The stream ended without a finish reason",
            "Anthropic stream ended before message_stop",
            "Codex stream ended before a terminal response event",
            "http2 request did not get a response",
            "Server asked for a retry delay of 300 s",
            "You can retry your request",
            "Try your request again",
            "please retry your request",
            "ResourceExhausted: no capacity",
            "Throttling error: too many tokens",
            "Connection reset by peer",
            r#"{"code":"server_busy"}"#,
            "Our servers are currently busy",
            "The model is at capacity",
            "The service is temporarily unavailable",
            "The upstream provider returned an error",
            "Unable to forward upstream",
            "upstream_request_failed",
            "upstream_stream_read_error",
            "The stream was interrupted",
            "HTTP/2 stream failed",
            "http2 stream failed",
            "request to https://oauth2.example.com/token failed, reason: ",
            "stream disconnected before completion: closed",
            "The pending stream has been canceled",
            "subscription_sharing_usage_unavailable",
            "subscription_sharing_user_unavailable",
        ] {
            assert!(is_retryable(&failed(text)), "{text}");
        }
    }

    #[test]
    fn account_limits_and_invalid_requests_are_not_retried() {
        for text in [
            r#"429 {"type":"GoUsageLimitError"}"#,
            r#"429 {"type":"FreeUsageLimitError"}"#,
            "429 Monthly usage limit reached",
            "429 enable available balance in your settings",
            r#"429 {"code":"insufficient_quota"}"#,
            "503 out of budget",
            "429 quota exceeded",
            "Check your billing details (rate limit)",
            "401 invalid x-api-key",
            "400 messages: text content blocks must be non-empty",
            "429 subscription_sharing_usage_limit_exceeded",
            "429 subscription_sharing_workplace_individual_usage_limit_exceeded",
            r#"429 {"error":{"code":"1308","message":"limit"}}"#,
            r#"429 {"error":{"code": 1308}}"#,
            "400 invalid request req_0a503b",
            "400 the file has 15000 bytes",
        ] {
            assert!(!is_retryable(&failed(text)), "{text}");
        }
        let aborted = AssistantMessage {
            stop_reason: StopReason::Aborted,
            ..failed("timeout")
        };
        assert!(!is_retryable(&aborted));
        assert!(!is_retryable(&AssistantMessage {
            error_message: None,
            ..failed("")
        }));
    }

    #[test]
    fn delays_double_up_to_the_maximum() {
        let policy = RetryPolicy::default();
        let seconds: Vec<u64> = [0, 1, 2, 3, 5, 6, 7, u32::MAX]
            .map(|attempt| policy.delay(attempt).as_secs())
            .into();
        assert_eq!(seconds, [2, 2, 4, 8, 32, 60, 60, 60]);
        assert!(policy.allows(3) && !policy.allows(4));
        assert!(
            !RetryPolicy {
                enabled: false,
                ..policy
            }
            .allows(1)
        );
    }
}
