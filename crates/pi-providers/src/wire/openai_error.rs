//! The error object of OpenAI-style services, in the body of a failed response or within a stream.

use pi_http::{ResponseHead, classify_status};
use pi_protocol::json::value_to_string;
use pi_protocol::overflow::is_overflow_text;
use pi_protocol::{ErrorClass, ProviderError};
use serde::Deserialize;
use serde_json::Value;

use super::http_error;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorObject {
    message: Value,
    code: Value,
    r#type: Value,
    metadata: Option<UpstreamMetadata>,
}

/// OpenRouter's metadata: the error of the upstream service.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UpstreamMetadata {
    raw: Value,
}

/// Error for an event after the response began: its message, or its JSON if it has none.
/// The event contains the error, or is the error.
pub(crate) fn event_error(data: &str) -> ProviderError {
    let event: Value = serde_json::from_str(data).unwrap_or_else(|_| data.into());
    let error = match event.get("error") {
        Some(error) if plain_text(error).is_some() => error,
        _ => &event,
    };
    let object = ErrorObject::deserialize(error).unwrap_or_default();
    let mut message = plain_text(&object.message)
        .or_else(|| plain_text(error))
        .unwrap_or_else(|| "The service ended the response with an error".to_owned());
    append_raw(&mut message, &object);
    let class = match object.class() {
        Some(ErrorClass::InvalidRequest) | None if is_overflow_text(&message) => {
            ErrorClass::ContextOverflow
        }
        class => class.unwrap_or(ErrorClass::Overloaded),
    };
    ProviderError {
        class,
        message: http_error::truncated(&message),
        status: object.status(),
    }
}

/// Error for a failed response: the status and the error object, or the complete body if there is
/// none.
pub(crate) fn response_error(head: &ResponseHead, body: &str) -> ProviderError {
    let Some((text, object)) = error_object(body) else {
        return http_error::response_error(head, body);
    };
    let mut text = text;
    append_raw(&mut text, &object);
    let mut error = http_error::response_error(head, &text);
    // The body is more precise than the status: an exhausted account is also a 429.
    if let Some(class) = object.class()
        && !matches!(class, ErrorClass::RateLimited { .. })
    {
        error.class = class;
    }
    error
}

fn error_object(body: &str) -> Option<(String, ErrorObject)> {
    #[derive(Deserialize)]
    struct WrappedError {
        error: Value,
    }
    let WrappedError { error } = serde_json::from_str(body).ok()?;
    if !error.is_object() {
        return None;
    }
    let text = value_to_string(&error);
    let object = pi_protocol::json::from_value(&error).ok()?;
    Some((text, object))
}

fn append_raw(message: &mut String, object: &ErrorObject) {
    let raw = object.metadata.as_ref().map(|metadata| &metadata.raw);
    if let Some(raw) = raw.and_then(plain_text)
        && !message.contains(&raw)
    {
        message.push('\n');
        message.push_str(&raw);
    }
}

/// Returns a string as is and any other value as JSON; `None` for empty values.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(value_to_string(other)),
    }
}

impl ErrorObject {
    /// Returns the HTTP status that some services repeat as the error's code.
    fn status(&self) -> Option<u16> {
        let number = match &self.code {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        number
            .and_then(|number| u16::try_from(number).ok())
            .filter(|status| (400..600).contains(status))
    }

    fn class(&self) -> Option<ErrorClass> {
        let codes = [&self.code, &self.r#type];
        let by_code = codes
            .into_iter()
            .filter_map(Value::as_str)
            .find_map(class_of_code);
        by_code.or_else(|| {
            self.status().map(|status| {
                let head = ResponseHead {
                    status,
                    headers: std::collections::BTreeMap::new(),
                };
                classify_status(&head, "")
            })
        })
    }
}

/// Classifies the codes and types that mean the same for every service.
fn class_of_code(code: &str) -> Option<ErrorClass> {
    Some(match code {
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" => {
            ErrorClass::Quota
        }
        "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => {
            ErrorClass::RateLimited { retry_after: None }
        }
        "context_length_exceeded" | "model_context_window_exceeded" => ErrorClass::ContextOverflow,
        "invalid_api_key" | "authentication_error" | "permission_error" => ErrorClass::Auth,
        "content_filter" | "content_policy_violation" => ErrorClass::Refused,
        "server_error" | "overloaded_error" | "overloaded" | "api_error" | "internal_error" => {
            ErrorClass::Overloaded
        }
        _ => return None,
    })
}
