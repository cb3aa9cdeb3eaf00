//! Google's errors: failed responses, and errors within a stream.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_http::{ResponseHead, classify_status};
use pi_protocol::overflow::is_overflow_text;
use pi_protocol::{ErrorClass, ProviderError};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::http_error::truncated;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GoogleStatus {
    code: Value,
    message: Option<String>,
    #[serde(rename = "status")]
    name: Option<String>,
    details: Vec<Value>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: GoogleStatus,
}

/// Builds and classifies the error for a failed response.
///
/// The body contains code, status and reason. Sessions store only this text, and
/// [`pi_protocol::retry`] matches it, so the first words name the meaning of the status.
pub(crate) fn http_error(head: &ResponseHead, body: &str) -> ProviderError {
    let body = body.trim();
    let status: GoogleStatus = serde_json::from_str(body)
        .map(|ErrorBody { error }| error)
        .unwrap_or_default();
    let message = match serde_json::from_str::<Value>(body) {
        Ok(value @ Value::Object(_)) => {
            let outcome = match head.status {
                401 | 403 => "The credential was rejected",
                429 => "Too many requests",
                500..=599 => "Service unavailable",
                _ => "The service rejected the request",
            };
            format!("{outcome}: {}", pi_protocol::json::value_to_string(&value))
        }
        _ if body.is_empty() => format!("The service responded with HTTP {}", head.status),
        _ => format!(
            "The service responded with HTTP {}: {}",
            head.status,
            truncated(body)
        ),
    };
    ProviderError::new(status.class(head, body), message).with_status(head.status)
}

impl GoogleStatus {
    /// Builds and classifies an error that arrived within a response.
    pub(super) fn into_stream_error(self) -> ProviderError {
        let code = self
            .code
            .as_u64()
            .and_then(|code| u16::try_from(code).ok())
            .unwrap_or(500);
        let name = self.name.as_deref().unwrap_or("no status");
        let reason = self.message.as_deref().unwrap_or("unknown error");
        let message = format!("The service failed during the response: {reason} ({code}, {name})");
        let head = ResponseHead {
            status: code,
            headers: BTreeMap::new(),
        };
        ProviderError::new(self.class(&head, reason), message).with_status(code)
    }

    /// Classifies by status and text, and by Google's own details.
    fn class(&self, head: &ResponseHead, body: &str) -> ErrorClass {
        match classify_status(head, body) {
            // An invalid key is a plain 400 with a reason in the details.
            ErrorClass::InvalidRequest if self.has_reason("API_KEY_INVALID") => ErrorClass::Auth,
            ErrorClass::InvalidRequest if is_overflow_text(body) => ErrorClass::ContextOverflow,
            ErrorClass::RateLimited { retry_after: None } => ErrorClass::RateLimited {
                retry_after: self.retry_delay(),
            },
            class => class,
        }
    }

    fn has_reason(&self, reason: &str) -> bool {
        self.details
            .iter()
            .any(|detail| detail.get("reason").and_then(Value::as_str) == Some(reason))
    }

    /// Returns the delay of a `RetryInfo` detail, such as `"37s"` or `"0.5s"`.
    fn retry_delay(&self) -> Option<Duration> {
        self.details.iter().find_map(|detail| {
            let delay = detail.get("retryDelay")?.as_str()?;
            let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
            Duration::try_from_secs_f64(seconds).ok()
        })
    }
}
