//! Words and classifies answers that are no success, for protocols without rules of their own.
//!
//! A protocol that knows more (error types in the body, vendor headers) looks there first and
//! falls back to this.

use std::time::Duration;

use crate::error::{ErrorClass, ProviderError};
use crate::options::ResponseHead;
use crate::overflow::is_overflow_text;

/// More of a body than this is noise: some gateways answer with whole pages.
const LONGEST_BODY: usize = 4000;

/// Describes a refused request by its status and the whole body.
pub(crate) fn refused(head: &ResponseHead, body: &str) -> ProviderError {
    let body = shortened(body.trim());
    let message = if body.is_empty() {
        format!("{} (no body)", status_line(head.status))
    } else {
        format!("{}: {body}", status_line(head.status))
    };
    let class = match class_of(head) {
        ErrorClass::InvalidRequest if is_overflow_text(&message) => ErrorClass::ContextOverflow,
        class => class,
    };
    ProviderError::new(class, message).with_status(head.status)
}

/// Returns the class that status and headers speak for.
pub(crate) fn class_of(head: &ResponseHead) -> ErrorClass {
    match head.status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        429 => ErrorClass::RateLimited {
            retry_after: retry_after(head),
        },
        408 | 409 | 500.. => ErrorClass::Overloaded,
        _ => ErrorClass::InvalidRequest,
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

fn retry_after(head: &ResponseHead) -> Option<Duration> {
    let number = |name: &str| head.headers.get(name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|milliseconds| milliseconds / 1000.0)
        .or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn head(status: u16, headers: &[(&str, &str)]) -> ResponseHead {
        ResponseHead {
            status,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn status_and_headers_decide_the_class() {
        let limited = |milliseconds| ErrorClass::RateLimited {
            retry_after: Some(Duration::from_millis(milliseconds)),
        };
        let unlimited = ErrorClass::RateLimited { retry_after: None };
        let cases: [(u16, &[(&str, &str)], ErrorClass); 10] = [
            (400, &[], ErrorClass::InvalidRequest),
            (401, &[], ErrorClass::Auth),
            (402, &[], ErrorClass::Quota),
            (403, &[], ErrorClass::Auth),
            (408, &[], ErrorClass::Overloaded),
            (429, &[], unlimited),
            (429, &[("retry-after", "2")], limited(2000)),
            (
                429,
                &[("retry-after-ms", "150"), ("retry-after", "2")],
                limited(150),
            ),
            (429, &[("retry-after", "-1")], unlimited),
            (529, &[], ErrorClass::Overloaded),
        ];
        for (status, headers, class) in cases {
            assert_eq!(
                class_of(&head(status, headers)),
                class,
                "{status} {headers:?}"
            );
        }
    }

    #[test]
    fn a_body_that_speaks_of_an_overflow_decides_the_class() {
        let class = |body| refused(&head(400, &[]), body).class;
        assert_eq!(class("prompt is too long"), ErrorClass::ContextOverflow);
        assert_eq!(class("bad field"), ErrorClass::InvalidRequest);
    }

    #[test]
    fn the_message_holds_status_and_body() {
        let message = |status, body: &str| refused(&head(status, &[]), body).message;
        assert_eq!(message(400, " {\"a\":1}\n"), "400 Bad Request: {\"a\":1}");
        assert_eq!(message(503, ""), "503 Service Unavailable (no body)");
        assert_eq!(message(529, "busy"), "529: busy");
        let long = "ä".repeat(LONGEST_BODY + 7);
        assert!(message(500, &long).ends_with("ä… (7 more characters)"));
    }
}
