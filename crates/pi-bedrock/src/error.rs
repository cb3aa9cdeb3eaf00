//! Bedrock's errors: in the response head, the body or the stream.

use pi_http::ResponseHead;
use pi_protocol::json::JsonObject;
use pi_protocol::{Diagnostic, ErrorClass, ProviderError};
use pi_providers::wire::http_error;
use serde::Deserialize;

/// Limit for header values that are accepted as IDs.
const MAX_ID_LENGTH: usize = 200;

const DATA_RETENTION_PAGE: &str =
    "https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html";

/// Known exceptions: name, prefix of the message, and class. Retry and overflow detection match the
/// prefixes.
const EXCEPTIONS: [(&str, &str, ErrorClass); 8] = [
    (
        "InternalServerException",
        "Internal server error",
        ErrorClass::Overloaded,
    ),
    (
        "ModelStreamErrorException",
        "Model stream error",
        ErrorClass::Overloaded,
    ),
    (
        "ValidationException",
        "Validation error",
        ErrorClass::InvalidRequest,
    ),
    (
        "ThrottlingException",
        "Throttling error",
        ErrorClass::RateLimited { retry_after: None },
    ),
    (
        "ServiceUnavailableException",
        "Service unavailable",
        ErrorClass::Overloaded,
    ),
    (
        "ModelTimeoutException",
        "Model timeout",
        ErrorClass::Overloaded,
    ),
    ("AccessDeniedException", "Access denied", ErrorClass::Auth),
    (
        "ServiceQuotaExceededException",
        "Service quota exceeded",
        ErrorClass::Quota,
    ),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BedrockErrorBody {
    #[serde(alias = "Message")]
    message: Option<String>,
    #[serde(rename = "__type", alias = "code")]
    kind: Option<String>,
}

/// Error for a failed response. A body in another format (a gateway's page) is included as is.
pub(super) fn response_error(head: &ResponseHead, body: &str) -> ProviderError {
    let parsed: BedrockErrorBody = serde_json::from_str(body).unwrap_or_default();
    let default = http_error::response_error(head, body);
    let (Some(name), Some(text)) = (error_code(head, body), parsed.message) else {
        return default;
    };
    let mut error = named_error(&name, &text).with_status(head.status);
    // The status knows how long to wait.
    if let ErrorClass::RateLimited { .. } = default.class {
        error.class = default.class;
    }
    error
}

/// Error for an exception within the stream.
pub(super) fn exception_error(name: &str, payload: &[u8]) -> ProviderError {
    let parsed: BedrockErrorBody = serde_json::from_slice(payload).unwrap_or_default();
    let text = parsed
        .message
        .unwrap_or_else(|| http_error::truncated(&String::from_utf8_lossy(payload)));
    named_error(name, &text)
}

/// Error for an unmodeled error within the stream.
pub(super) fn unmodeled_error(code: &str, text: &str) -> ProviderError {
    named_error(code, text)
}

fn named_error(name: &str, text: &str) -> ProviderError {
    // In a stream, the names start with a lower-case letter.
    let known = EXCEPTIONS
        .iter()
        .find(|(known, _, _)| known.eq_ignore_ascii_case(name));
    let (prefix, class) = match known {
        Some((_, prefix, class)) => (*prefix, *class),
        None => (name, ErrorClass::InvalidRequest),
    };
    let hint = if text.to_lowercase().contains("data retention mode") {
        format!(" (see {DATA_RETENTION_PAGE})")
    } else {
        String::new()
    };
    http_error::with_overflow(ProviderError::new(class, format!("{prefix}: {text}{hint}")))
}

/// Returns the exception name, from the header or the body.
fn error_code(head: &ResponseHead, body: &str) -> Option<String> {
    let header = head.headers.get("x-amzn-errortype").cloned();
    let in_body = || serde_json::from_str::<BedrockErrorBody>(body).ok()?.kind;
    let name = header.or_else(in_body)?;
    // The format is `namespace#Name:url`.
    let name = name.rsplit('#').next()?.split(':').next()?;
    identifier(name).filter(|name| name.ends_with("Exception"))
}

fn identifier(value: &str) -> Option<String> {
    let value = value.trim();
    (!value.is_empty() && value.len() <= MAX_ID_LENGTH).then(|| value.to_owned())
}

/// Records the details that AWS support requires.
pub(super) fn diagnostic(
    head: &ResponseHead,
    body: Option<&str>,
    timestamp: i64,
) -> Option<Diagnostic> {
    let mut details = JsonObject::new();
    if let Some(body) = body {
        details.insert("status".to_owned(), head.status.into());
        if let Some(code) = error_code(head, body) {
            details.insert("errorCode".to_owned(), code.into());
        }
    }
    let request_id = head.headers.get("x-amzn-requestid");
    if let Some(id) = request_id.and_then(|id| identifier(id)) {
        details.insert("requestId".to_owned(), id.into());
    }
    (!details.is_empty()).then(|| Diagnostic {
        kind: "bedrock_response_failure".to_owned(),
        timestamp,
        error: None,
        details: Some(details),
    })
}
