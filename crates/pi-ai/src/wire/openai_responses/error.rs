//! Words and classifies what goes wrong with a response: refused, reported in the stream, broken off
//! or never finished. The service's own code decides the class, then the status, then its words.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::events::{Failure, Response};
use crate::error::{ErrorClass, ProviderError};
use crate::options::ResponseHead;
use crate::overflow;
use crate::transport::classify_status;
use crate::wire::http_error;

/// Describes an event that is not JSON, or not the JSON it should be.
pub(crate) fn unreadable(cause: &serde_json::Error) -> ProviderError {
    ProviderError::protocol(format!(
        "The service sent an event that cannot be read: {cause}"
    ))
}

/// Describes a stream that ended without saying how the response did.
pub(crate) fn ended_early() -> ProviderError {
    ProviderError::network("Connection lost: it ended before the response was complete")
}

/// Describes a status we do not know.
pub(super) fn unknown_status(status: &str) -> ProviderError {
    ProviderError::protocol(format!("The response ended in an unknown status: {status}"))
}

/// Describes a response that was broken off by the service.
pub(super) fn incomplete(reason: Option<&str>) -> ProviderError {
    match reason {
        Some(reason) => ProviderError::new(
            class_of_code(reason).unwrap_or(ErrorClass::Refused),
            format!("The service broke the response off: {reason}"),
        ),
        None => ProviderError::protocol("The service broke the response off without a reason"),
    }
}

/// Describes a response that failed.
pub(super) fn failed(response: &Response) -> ProviderError {
    if let Some(failure) = &response.error {
        return reported(failure);
    }
    let reason = response
        .incomplete_details
        .as_ref()
        .and_then(|details| details.reason.as_deref());
    match reason {
        Some(reason) => incomplete(Some(reason)),
        None => ProviderError::new(
            ErrorClass::Overloaded,
            "The response failed; the service gave no reason",
        ),
    }
}

/// Describes an error that the service reported in the stream.
pub(super) fn reported(failure: &Failure) -> ProviderError {
    let code = failure.code.as_deref().or(failure.kind.as_deref());
    let words = match (code, failure.message.as_deref()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(words), None) | (None, Some(words)) => words.to_owned(),
        (None, None) => "no reason given".to_owned(),
    };
    let class = match class_of(failure) {
        None if overflow::is_overflow_text(&words) => ErrorClass::ContextOverflow,
        None => ErrorClass::Overloaded,
        Some(class) => class,
    };
    ProviderError::new(class, format!("The service reported an error: {words}"))
}

/// Words and classifies an answer that is not a success.
///
/// The services wrap what they say in `{"error": …}`; the wrapping tells nobody anything.
pub(crate) fn refused(head: &ResponseHead, body: &str) -> ProviderError {
    #[derive(Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let inner = serde_json::from_str::<Wrapped<'_>>(body)
        .ok()
        .map(|wrapped| wrapped.error.get())
        .filter(|inner| inner.starts_with('{'));
    let told = inner.map_or_else(|| body.to_owned(), http_error::compacted);
    let mut error = http_error::refused(head, &told);
    let failure = inner.and_then(|inner| serde_json::from_str::<Failure>(inner).ok());
    error.class = match failure.as_ref().and_then(class_of) {
        // Only the headers know how long to wait.
        None | Some(ErrorClass::RateLimited { .. } | ErrorClass::InvalidRequest) => {
            classify_status(head, body)
        }
        Some(class) => class,
    };
    error
}

fn class_of(failure: &Failure) -> Option<ErrorClass> {
    let codes = [failure.code.as_deref(), failure.kind.as_deref()];
    codes.into_iter().flatten().find_map(class_of_code)
}

/// Returns the class that an error code speaks for.
pub(crate) fn class_of_code(code: &str) -> Option<ErrorClass> {
    Some(match code {
        "context_length_exceeded" => ErrorClass::ContextOverflow,
        "insufficient_quota"
        | "usage_limit_reached"
        | "usage_not_included"
        | "billing_hard_limit_reached"
        | "billing_not_active" => ErrorClass::Quota,
        "rate_limit" | "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => {
            ErrorClass::RateLimited { retry_after: None }
        }
        "server_error"
        | "internal_server_error"
        | "server_is_overloaded"
        | "overloaded_error"
        | "service_unavailable"
        | "slow_down"
        | "timeout" => ErrorClass::Overloaded,
        "invalid_api_key" | "token_expired" | "token_invalidated" | "authentication_error" => {
            ErrorClass::Auth
        }
        "content_filter" | "content_policy_violation" => ErrorClass::Refused,
        "invalid_prompt" | "invalid_request_error" | "model_not_found" => {
            ErrorClass::InvalidRequest
        }
        _ => return None,
    })
}
