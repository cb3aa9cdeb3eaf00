//! Words what Codex refuses over HTTP.
//!
//! A used-up limit gets a sentence that says when it is lifted; everything else is worded as for the
//! whole family.

use std::time::Duration;

use serde::Deserialize;

use crate::error::{ErrorClass, ProviderError};
use crate::json::lenient_optional_u64;
use crate::options::ResponseHead;
use crate::wire::openai_responses::error;

#[derive(Debug, Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    error: Limit,
}

/// What the service says of a limit that is used up.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Limit {
    code: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    plan_type: Option<String>,
    /// Seconds since the epoch.
    #[serde(deserialize_with = "lenient_optional_u64")]
    resets_at: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    resets_in_seconds: Option<u64>,
}

impl Limit {
    fn is_used_up(&self, status: u16) -> bool {
        let codes = [self.code.as_deref(), self.kind.as_deref()];
        let named = codes
            .into_iter()
            .flatten()
            .any(|code| matches!(code, "usage_limit_reached" | "usage_not_included"));
        named || (status == 429 && (self.resets_at.is_some() || self.resets_in_seconds.is_some()))
    }

    fn resets_in(&self, now_ms: i64) -> Option<Duration> {
        let now = Duration::from_millis(u64::try_from(now_ms).unwrap_or(0));
        match self.resets_at {
            Some(at) => Some(Duration::from_secs(at).saturating_sub(now)),
            None => self.resets_in_seconds.map(Duration::from_secs),
        }
    }
}

/// Returns whether the account's limit is used up, so that asking again soon is of no use.
pub(super) fn is_used_up(head: &ResponseHead, body: &str) -> bool {
    limit_in(body).is_some_and(|limit| limit.is_used_up(head.status))
}

/// Words and classifies an answer that is not a success.
pub(super) fn refused(head: &ResponseHead, body: &str, now_ms: i64) -> ProviderError {
    match limit_in(body) {
        Some(limit) if limit.is_used_up(head.status) => {
            ProviderError::new(ErrorClass::Quota, sentence(&limit, now_ms)).with_status(head.status)
        }
        Some(_) | None => error::refused(head, body),
    }
}

fn limit_in(body: &str) -> Option<Limit> {
    let refusal: Refusal = serde_json::from_str(body).ok()?;
    Some(refusal.error)
}

fn sentence(limit: &Limit, now_ms: i64) -> String {
    let plan = match &limit.plan_type {
        Some(plan) => format!(" of the {} plan", plan.to_lowercase()),
        None => String::new(),
    };
    let reset = match limit.resets_in(now_ms) {
        Some(wait) => format!("; it is lifted in {}", spoken(wait)),
        None => String::new(),
    };
    format!("The ChatGPT usage limit{plan} is used up{reset}")
}

/// Says a time the way people do: in minutes, then hours, then days.
fn spoken(wait: Duration) -> String {
    const MINUTES_PER_HOUR: u64 = 60;
    const MINUTES_PER_DAY: u64 = 24 * MINUTES_PER_HOUR;
    let minutes = wait.as_secs().div_ceil(60);
    let counted = |count: u64, unit: &str| match count {
        1 => format!("1 {unit}"),
        _ => format!("{count} {unit}s"),
    };
    match minutes {
        0..120 => counted(minutes, "minute"),
        120..2880 => format!(
            "about {}",
            counted(minutes.div_ceil(MINUTES_PER_HOUR), "hour")
        ),
        _ => format!(
            "about {}",
            counted(minutes.div_ceil(MINUTES_PER_DAY), "day")
        ),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_used_up_limit_says_when_it_is_lifted() {
        let now_ms = 1_000_000_000_000;
        let cases = [
            (
                429,
                r#"{"error":{"type":"usage_limit_reached","plan_type":"Plus","resets_at":1000000720}}"#,
                "The ChatGPT usage limit of the plus plan is used up; it is lifted in 12 minutes",
            ),
            (
                429,
                r#"{"error":{"code":"rate_limit","resets_in_seconds":36000.0}}"#,
                "The ChatGPT usage limit is used up; it is lifted in about 10 hours",
            ),
            (
                403,
                r#"{"error":{"code":"usage_not_included"}}"#,
                "The ChatGPT usage limit is used up",
            ),
            (
                429,
                r#"{"error":{"code":"usage_limit_reached","resets_at":1000604800}}"#,
                "The ChatGPT usage limit is used up; it is lifted in about 7 days",
            ),
            (
                429,
                r#"{"error":{"code":"usage_limit_reached","resets_at":1}}"#,
                "The ChatGPT usage limit is used up; it is lifted in 0 minutes",
            ),
            (
                429,
                r#"{"error":{"code":"rate_limit","message":"slow down"}}"#,
                r#"429 Too Many Requests: {"code":"rate_limit","message":"slow down"}"#,
            ),
            (503, "busy", "503 Service Unavailable: busy"),
        ];
        for (status, body, message) in cases {
            let head = ResponseHead {
                status,
                headers: std::collections::BTreeMap::new(),
            };
            let error = refused(&head, body, now_ms);
            assert_eq!(
                (error.message.as_str(), error.status),
                (message, Some(status))
            );
            let quota = error.class == ErrorClass::Quota;
            assert_eq!(quota, is_used_up(&head, body), "{body}");
        }
    }
}
