//! Builds and classifies the errors of a response: failed, reported in the stream, aborted or
//! incomplete. The service's error code decides the class, then the status, then the message.

use pi_http::{ResponseHead, classify_status};
use pi_protocol::{ErrorClass, ProviderError, overflow};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::events::{ResponseObject, ServiceError};
use crate::wire::http_error;

/// Error for an event that is not valid JSON.
pub(crate) fn invalid_event(cause: &serde_json::Error) -> ProviderError {
    ProviderError::protocol(format!("The service sent an invalid event: {cause}"))
}

/// Error for a stream that ended without a final event.
pub(crate) fn ended_early() -> ProviderError {
    ProviderError::network("Connection lost: it ended before the response was complete")
}

pub(super) fn unknown_status(status: &str) -> ProviderError {
    ProviderError::protocol(format!(
        "The response ended with an unknown status: {status}"
    ))
}

/// Error for a response that the service ended early.
pub(super) fn incomplete(reason: Option<&str>) -> ProviderError {
    match reason {
        Some(reason) => ProviderError::new(
            class_of_code(reason).unwrap_or(ErrorClass::Refused),
            format!("The service ended the response early: {reason}"),
        ),
        None => ProviderError::protocol("The service ended the response early without a reason"),
    }
}

pub(super) fn failed(response: &ResponseObject) -> ProviderError {
    if let Some(service_error) = &response.error {
        return reported(service_error);
    }
    let reason = response
        .incomplete_details
        .as_ref()
        .and_then(|details| details.reason.as_deref());
    match reason {
        Some(reason) => incomplete(Some(reason)),
        None => ProviderError::new(
            ErrorClass::Overloaded,
            "The response failed without a reason",
        ),
    }
}

/// Error that the service reported in the stream.
pub(super) fn reported(service_error: &ServiceError) -> ProviderError {
    let code = service_error
        .code
        .as_deref()
        .or(service_error.kind.as_deref());
    let text = match (code, service_error.message.as_deref()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => "unknown error".to_owned(),
    };
    let class = match class_of(service_error) {
        None if overflow::is_overflow_text(&text) => ErrorClass::ContextOverflow,
        None => ErrorClass::Overloaded,
        Some(class) => class,
    };
    ProviderError::new(class, format!("The service reported an error: {text}"))
}

/// Builds and classifies the error for a failed response.
///
/// The services wrap errors in `{"error": …}`; the message leaves that out.
pub(crate) fn response_error(head: &ResponseHead, body: &str) -> ProviderError {
    #[derive(Deserialize)]
    struct ErrorWrapper<'a> {
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let inner = serde_json::from_str::<ErrorWrapper<'_>>(body)
        .ok()
        .map(|wrapped| wrapped.error.get())
        .filter(|inner| inner.starts_with('{'));
    let message = http_error::compact_json(inner.unwrap_or(body));
    let mut error = http_error::response_error(head, &message);
    let service_error = inner.and_then(|inner| serde_json::from_str::<ServiceError>(inner).ok());
    error.class = match service_error.as_ref().and_then(class_of) {
        // Only the headers carry the retry delay.
        None | Some(ErrorClass::RateLimited { .. } | ErrorClass::InvalidRequest) => {
            classify_status(head, body)
        }
        Some(class) => class,
    };
    error
}

fn class_of(service_error: &ServiceError) -> Option<ErrorClass> {
    let codes = [service_error.code.as_deref(), service_error.kind.as_deref()];
    codes.into_iter().flatten().find_map(class_of_code)
}

/// Classifies an error code.
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
