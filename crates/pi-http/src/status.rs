//! Classifies failed HTTP responses.

use pi_protocol::ErrorClass;
use pi_protocol::overflow::is_overflow_text;
use pi_protocol::retry::is_account_limit;

use super::retry::{http_date_ms, requested_delay};
use crate::ResponseHead;

/// Classifies a failed response by its status, headers and body text.
pub fn classify_status(head: &ResponseHead, body: &str) -> ErrorClass {
    match head.status {
        401 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        413 => ErrorClass::ContextOverflow,
        400..=499 if is_account_limit(body) => ErrorClass::Quota,
        400..=499 if is_overflow_text(body) => ErrorClass::ContextOverflow,
        403 => ErrorClass::Auth,
        429 => ErrorClass::RateLimited {
            retry_after: requested_delay(head, response_time_ms(head)),
        },
        408 | 409 | 500.. => ErrorClass::Overloaded,
        400..=499 => ErrorClass::InvalidRequest,
        _ => ErrorClass::Protocol,
    }
}

/// Returns when the service sent the response by its own clock, which a `retry-after` date refers to.
fn response_time_ms(head: &ResponseHead) -> i64 {
    head.headers
        .get("date")
        .and_then(|date| http_date_ms(date))
        .unwrap_or_else(|| jiff::Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    fn status_and_body_determine_the_class() {
        for (status, body, expected) in [
            (400, "bad field", ErrorClass::InvalidRequest),
            (
                400,
                "prompt is too long: 9 tokens",
                ErrorClass::ContextOverflow,
            ),
            (401, "", ErrorClass::Auth),
            (402, "", ErrorClass::Quota),
            (403, "blocked", ErrorClass::Auth),
            (403, "billing is off", ErrorClass::Quota),
            (404, "no such model", ErrorClass::InvalidRequest),
            (408, "", ErrorClass::Overloaded),
            (409, "", ErrorClass::Overloaded),
            (413, "", ErrorClass::ContextOverflow),
            (422, "", ErrorClass::InvalidRequest),
            (429, "insufficient_quota", ErrorClass::Quota),
            (
                429,
                "slow down",
                ErrorClass::RateLimited { retry_after: None },
            ),
            (500, "", ErrorClass::Overloaded),
            (529, "", ErrorClass::Overloaded),
            (304, "", ErrorClass::Protocol),
        ] {
            let class = classify_status(&head(status, &[]), body);
            assert_eq!(class, expected, "{status} {body:?}");
        }
    }

    #[test]
    fn a_retry_after_date_is_relative_to_the_date_header() {
        let headers = [
            ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
            ("retry-after", "Wed, 21 Oct 2015 07:28:09 GMT"),
        ];
        let retry_after = Some(Duration::from_secs(9));
        assert_eq!(
            classify_status(&head(429, &headers), ""),
            ErrorClass::RateLimited { retry_after }
        );
    }
}
