//! What Bedrock says when it refuses or fails, in the answer's head, its body or in mid-stream.

use serde::Deserialize;

use crate::error::{ErrorClass, ProviderError};
use crate::json::JsonObject;
use crate::message::Diagnostic;
use crate::options::ResponseHead;
use crate::wire::http_error;

/// A header value longer than this is no id.
const LONGEST_ID: usize = 200;

const DATA_RETENTION_PAGE: &str =
    "https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html";

/// The failures of the interface: name, how the message begins, and class. Retry and overflow
/// detection know the beginnings.
const FAILURES: [(&str, &str, ErrorClass); 8] = [
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
struct FailureBody {
    #[serde(alias = "Message")]
    message: Option<String>,
    #[serde(rename = "__type", alias = "code")]
    kind: Option<String>,
}

/// Words a refused request. What is not the interface's own (a gateway's page, say) is told whole.
pub(super) fn refused(head: &ResponseHead, body: &str) -> ProviderError {
    let parsed: FailureBody = serde_json::from_str(body).unwrap_or_default();
    let general = http_error::refused(head, body);
    let (Some(name), Some(text)) = (error_code(head, body), parsed.message) else {
        return general;
    };
    let mut error = worded(&name, &text).with_status(head.status);
    // The status knows how long to wait.
    if let ErrorClass::RateLimited { .. } = general.class {
        error.class = general.class;
    }
    error
}

/// Words a failure that arrives in mid-stream under its name.
pub(super) fn in_stream(name: &str, payload: &[u8]) -> ProviderError {
    let parsed: FailureBody = serde_json::from_slice(payload).unwrap_or_default();
    let text = parsed
        .message
        .unwrap_or_else(|| http_error::shortened(&String::from_utf8_lossy(payload)));
    worded(name, &text)
}

/// Words a failure that the interface does not know.
pub(super) fn unnamed(code: &str, text: &str) -> ProviderError {
    worded(code, text)
}

fn worded(name: &str, text: &str) -> ProviderError {
    // In a stream the names begin with a small letter.
    let known = FAILURES
        .iter()
        .find(|(known, _, _)| known.eq_ignore_ascii_case(name));
    let (beginning, class) = match known {
        Some((_, beginning, class)) => (*beginning, *class),
        None => (name, ErrorClass::InvalidRequest),
    };
    let advice = if text.to_lowercase().contains("data retention mode") {
        format!(" (see {DATA_RETENTION_PAGE})")
    } else {
        String::new()
    };
    http_error::with_overflow(ProviderError::new(
        class,
        format!("{beginning}: {text}{advice}"),
    ))
}

/// Returns the interface's name of a failure, from the header or the body.
fn error_code(head: &ResponseHead, body: &str) -> Option<String> {
    let header = head.headers.get("x-amzn-errortype").cloned();
    let in_body = || serde_json::from_str::<FailureBody>(body).ok()?.kind;
    let name = header.or_else(in_body)?;
    // `namespace#Name:address` names the failure in its middle.
    let name = name.rsplit('#').next()?.split(':').next()?;
    identifier(name).filter(|name| name.ends_with("Exception"))
}

fn identifier(value: &str) -> Option<String> {
    let value = value.trim();
    (!value.is_empty() && value.len() <= LONGEST_ID).then(|| value.to_owned())
}

/// Records what AWS's support asks for.
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
