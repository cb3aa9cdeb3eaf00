//! What an HTTP answer that is no success means for the next step.

use super::retry::{http_date_ms, requested_delay};
use crate::error::ErrorClass;
use crate::options::ResponseHead;

/// Words by which services say that an allowance is used up, so that waiting does not help.
const QUOTA_WORDS: &[&str] = &[
    "insufficient_quota",
    "quota exceeded",
    "exceeded your current quota",
    "out of budget",
    "available balance",
    "insufficient balance",
    "insufficient credits",
    "credit balance is too low",
    "monthly usage limit",
    "usagelimiterror",
    "billing",
];

/// Classifies an answer that is no success by its status, its headers and the words of its body.
pub(crate) fn classify_status(head: &ResponseHead, body: &str) -> ErrorClass {
    let quota = || {
        let body = body.to_ascii_lowercase();
        QUOTA_WORDS.iter().any(|words| body.contains(words))
    };
    match head.status {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        429 if quota() => ErrorClass::Quota,
        429 => ErrorClass::RateLimited {
            retry_after: requested_delay(head, answered_at(head)),
        },
        408 | 409 | 500.. => ErrorClass::Overloaded,
        413 => ErrorClass::ContextOverflow,
        400..=499 if quota() => ErrorClass::Quota,
        400..=499 => ErrorClass::InvalidRequest,
        _ => ErrorClass::Protocol,
    }
}

/// Returns when the service answered by its own clock, which a date in `retry-after` goes by.
fn answered_at(head: &ResponseHead) -> i64 {
    head.headers
        .get("date")
        .and_then(|date| http_date_ms(date))
        .unwrap_or_else(|| jiff::Timestamp::now().as_millisecond())
}
