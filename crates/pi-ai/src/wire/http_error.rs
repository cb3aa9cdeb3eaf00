//! Words answers that are no success, for protocols without rules of their own.
//!
//! A protocol that knows more (error types in the body, vendor headers) looks there first and
//! falls back to this.

use crate::error::{ErrorClass, ProviderError};
use crate::json::value_to_string;
use crate::options::ResponseHead;
use crate::overflow::is_overflow_text;
use crate::transport::classify_status;

/// More of a body than this is noise: some gateways answer with whole pages.
const LONGEST_BODY: usize = 4000;

/// Describes a refused request by its status and the whole body.
pub(crate) fn refused(head: &ResponseHead, body: &str) -> ProviderError {
    let told = shortened(body.trim());
    let message = if told.is_empty() {
        format!("{} (no body)", status_line(head.status))
    } else {
        format!("{}: {told}", status_line(head.status))
    };
    with_overflow(ProviderError::new(classify_status(head, body), message).with_status(head.status))
}

/// Replaces the class of a refusal whose words say that the conversation is too long.
pub(crate) fn with_overflow(mut error: ProviderError) -> ProviderError {
    if error.class == ErrorClass::InvalidRequest && is_overflow_text(&error.message) {
        error.class = ErrorClass::ContextOverflow;
    }
    error
}

/// Writes a JSON body without the spaces between its parts; any other body stays as it is.
pub(crate) fn compacted(body: &str) -> String {
    match serde_json::from_str(body) {
        Ok(value) => value_to_string(&value),
        Err(_) => body.to_owned(),
    }
}

/// Returns the status with its name, such as `404 Not Found`.
pub(crate) fn status_line(status: u16) -> String {
    match status_name(status) {
        Some(name) => format!("{status} {name}"),
        None => status.to_string(),
    }
}

/// Returns the standard name of a status.
pub(crate) fn status_name(status: u16) -> Option<&'static str> {
    http::StatusCode::from_u16(status).ok()?.canonical_reason()
}

/// Cuts a body that would drown the message.
pub(crate) fn shortened(body: &str) -> String {
    match body.char_indices().nth(LONGEST_BODY) {
        None => body.to_owned(),
        Some((end, _)) => {
            let kept = body.get(..end).unwrap_or_default();
            let omitted = body.chars().count() - LONGEST_BODY;
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
    fn a_conversation_that_is_too_long_has_its_own_class() {
        let class = |status, body| refused(&head(status), body).class;
        let long = r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
        assert_eq!(class(400, long), ErrorClass::ContextOverflow);
        assert_eq!(class(500, long), ErrorClass::Overloaded);
        assert_eq!(class(400, "bad field"), ErrorClass::InvalidRequest);
    }

    #[test]
    fn the_message_holds_status_and_body() {
        let message = |status, body: &str| refused(&head(status), body).message;
        assert_eq!(message(400, " {\"a\":1}\n"), "400 Bad Request: {\"a\":1}");
        assert_eq!(message(503, ""), "503 Service Unavailable (no body)");
        assert_eq!(message(529, "busy"), "529: busy");
        let long = "ä".repeat(LONGEST_BODY + 7);
        assert!(message(500, &long).ends_with("ä… (7 more characters)"));
    }
}
