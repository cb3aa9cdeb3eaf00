//! Default error messages for failed responses.
//!
//! A protocol with more information (error types in the body, vendor headers) uses that first and
//! falls back to this.

use pi_http::{ResponseHead, classify_status};
use pi_protocol::json::value_to_string;
use pi_protocol::overflow::is_overflow_text;
use pi_protocol::{ErrorClass, ProviderError};

/// Limit for the part of a body in a message: some gateways respond with complete HTML pages.
const MAX_BODY_CHARS: usize = 4000;

/// Error for a failed response, from its status and body.
pub fn response_error(head: &ResponseHead, body: &str) -> ProviderError {
    let text = truncated(body.trim());
    let message = if text.is_empty() {
        format!("{} (no body)", status_line(head.status))
    } else {
        format!("{}: {text}", status_line(head.status))
    };
    with_overflow(ProviderError::new(classify_status(head, body), message).with_status(head.status))
}

/// Corrects the class of an error whose message reports a context overflow.
pub fn with_overflow(mut error: ProviderError) -> ProviderError {
    if error.class == ErrorClass::InvalidRequest && is_overflow_text(&error.message) {
        error.class = ErrorClass::ContextOverflow;
    }
    error
}

/// Formats a JSON body without whitespace; any other body is unchanged.
pub(crate) fn compact_json(body: &str) -> String {
    match serde_json::from_str(body) {
        Ok(value) => value_to_string(&value),
        Err(_) => body.to_owned(),
    }
}

/// Returns the status with its reason phrase, such as `404 Not Found`.
pub(crate) fn status_line(status: u16) -> String {
    match status_name(status) {
        Some(name) => format!("{status} {name}"),
        None => status.to_string(),
    }
}

pub(crate) fn status_name(status: u16) -> Option<&'static str> {
    http::StatusCode::from_u16(status).ok()?.canonical_reason()
}

/// Truncates a body that is too long for a message.
pub fn truncated(body: &str) -> String {
    match body.char_indices().nth(MAX_BODY_CHARS) {
        None => body.to_owned(),
        Some((end, _)) => {
            let kept = body.get(..end).unwrap_or_default();
            let omitted = body.chars().count() - MAX_BODY_CHARS;
            format!("{kept}… ({omitted} more characters)")
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn head(status: u16) -> ResponseHead {
        ResponseHead {
            status,
            headers: [].into(),
        }
    }

    #[test]
    fn a_context_overflow_has_its_own_class() {
        let class = |status, body| response_error(&head(status), body).class;
        let long = r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
        assert_eq!(class(400, long), ErrorClass::ContextOverflow);
        assert_eq!(class(500, long), ErrorClass::Overloaded);
        assert_eq!(class(400, "bad field"), ErrorClass::InvalidRequest);
    }

    #[test]
    fn the_message_contains_status_and_body() {
        let message = |status, body: &str| response_error(&head(status), body).message;
        assert_eq!(message(400, " {\"a\":1}\n"), "400 Bad Request: {\"a\":1}");
        assert_eq!(message(503, ""), "503 Service Unavailable (no body)");
        assert_eq!(message(529, "busy"), "529: busy");
        let long = "ä".repeat(MAX_BODY_CHARS + 7);
        assert!(message(500, &long).ends_with("ä… (7 more characters)"));
    }
}
