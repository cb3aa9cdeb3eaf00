//! Error messages for failed HTTP responses of Codex.
//!
//! An exhausted usage limit gets a message with its reset time. Other errors are classified as for
//! all Responses APIs. A request that the service rejects ends with the service's words, as in the
//! TypeScript pi.

use std::time::Duration;

use pi_http::ResponseHead;
use pi_protocol::json::lenient_optional_u64;
use pi_protocol::{ErrorClass, ProviderError};
use serde::Deserialize;

use crate::wire::http_error;
use crate::wire::openai_responses::error;

#[derive(Debug, Default, Deserialize)]
struct CodexErrorBody {
    #[serde(default)]
    error: ServiceError,
}

/// A reported error, with the details of an exhausted usage limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServiceError {
    message: Option<String>,
    code: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    plan_type: Option<String>,
    /// Unix timestamp in seconds.
    #[serde(deserialize_with = "lenient_optional_u64")]
    resets_at: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    resets_in_seconds: Option<u64>,
}

impl ServiceError {
    fn is_exhausted_limit(&self, status: u16) -> bool {
        let codes = [self.code.as_deref(), self.kind.as_deref()];
        let has_limit_code = codes
            .into_iter()
            .flatten()
            .any(|code| matches!(code, "usage_limit_reached" | "usage_not_included"));
        has_limit_code
            || (status == 429 && (self.resets_at.is_some() || self.resets_in_seconds.is_some()))
    }

    fn resets_in(&self, now_ms: i64) -> Option<Duration> {
        let now = Duration::from_millis(u64::try_from(now_ms).unwrap_or(0));
        match self.resets_at {
            Some(at) => Some(Duration::from_secs(at).saturating_sub(now)),
            None => self.resets_in_seconds.map(Duration::from_secs),
        }
    }
}

/// Whether the account's usage limit is exhausted, so that a retry is pointless.
pub(super) fn is_exhausted(head: &ResponseHead, body: &str) -> bool {
    parse_error(body).is_some_and(|error| error.is_exhausted_limit(head.status))
}

/// Builds and classifies the error for a failed response.
pub(super) fn response_error(head: &ResponseHead, body: &str, now_ms: i64) -> ProviderError {
    let reported = parse_error(body).unwrap_or_default();
    if reported.is_exhausted_limit(head.status) {
        let message = limit_message(&reported, now_ms);
        return ProviderError::new(ErrorClass::Quota, message).with_status(head.status);
    }
    let mut error = error::response_error(head, body);
    let message = reported.message.unwrap_or_else(|| body.trim().to_owned());
    // A session recognizes by the status in the message that a failure may pass.
    if !pi_http::retry::is_retryable(head) && !message.is_empty() {
        error.message = http_error::truncated(&message);
    }
    error
}

fn parse_error(body: &str) -> Option<ServiceError> {
    let body: CodexErrorBody = serde_json::from_str(body).ok()?;
    Some(body.error)
}

fn limit_message(limit: &ServiceError, now_ms: i64) -> String {
    let plan = match &limit.plan_type {
        Some(plan) => format!(" for the {} plan", plan.to_lowercase()),
        None => String::new(),
    };
    let reset = match limit.resets_in(now_ms) {
        Some(wait) => format!(". It resets in {}", format_wait(wait)),
        None => String::new(),
    };
    format!("ChatGPT usage limit{plan} reached{reset}")
}

/// Formats a duration in minutes, hours or days.
fn format_wait(wait: Duration) -> String {
    const MINUTES_PER_HOUR: u64 = 60;
    const MINUTES_PER_DAY: u64 = 24 * MINUTES_PER_HOUR;
    let minutes = wait.as_secs().div_ceil(60);
    let plural = |count: u64, unit: &str| match count {
        1 => format!("1 {unit}"),
        _ => format!("{count} {unit}s"),
    };
    match minutes {
        0..120 => plural(minutes, "minute"),
        120..2880 => format!(
            "about {}",
            plural(minutes.div_ceil(MINUTES_PER_HOUR), "hour")
        ),
        _ => format!("about {}", plural(minutes.div_ceil(MINUTES_PER_DAY), "day")),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_exhausted_limit_shows_its_reset_time() {
        let now_ms = 1_000_000_000_000;
        let cases = [
            (
                429,
                r#"{"error":{"type":"usage_limit_reached","plan_type":"Plus","resets_at":1000000720}}"#,
                "ChatGPT usage limit for the plus plan reached. It resets in 12 minutes",
            ),
            (
                429,
                r#"{"error":{"code":"rate_limit","resets_in_seconds":36000.0}}"#,
                "ChatGPT usage limit reached. It resets in about 10 hours",
            ),
            (
                403,
                r#"{"error":{"code":"usage_not_included"}}"#,
                "ChatGPT usage limit reached",
            ),
            (
                429,
                r#"{"error":{"code":"usage_limit_reached","resets_at":1000604800}}"#,
                "ChatGPT usage limit reached. It resets in about 7 days",
            ),
            (
                429,
                r#"{"error":{"code":"usage_limit_reached","resets_at":1}}"#,
                "ChatGPT usage limit reached. It resets in 0 minutes",
            ),
            (
                429,
                r#"{"error":{"code":"rate_limit","message":"slow down"}}"#,
                r#"429 Too Many Requests: {"code":"rate_limit","message":"slow down"}"#,
            ),
            (503, "busy", "503 Service Unavailable: busy"),
            (
                400,
                r#"{"error":{"code":"bad","message":"bad field"}}"#,
                "bad field",
            ),
            (400, " bad\n", "bad"),
            (400, "", "400 Bad Request (no body)"),
        ];
        for (status, body, message) in cases {
            let head = ResponseHead {
                status,
                headers: std::collections::BTreeMap::new(),
            };
            let error = response_error(&head, body, now_ms);
            assert_eq!(
                (error.message.as_str(), error.status),
                (message, Some(status))
            );
            let quota = error.class == ErrorClass::Quota;
            assert_eq!(quota, is_exhausted(&head, body), "{body}");
        }
    }
}
