//! When a request that failed before its answer began is sent again, and after which wait.
//!
//! This is the retry of a single request, off by default. The agent's own retry, which starts the
//! whole turn again, is decided by [`crate::retry`].

use std::time::Duration;

use crate::error::ProviderError;
use crate::options::ResponseHead;

/// The longest wait a service may ask for when the options name none.
const LONGEST_DELAY: Duration = Duration::from_mins(1);

/// The wait before the first retry when the service names none; it doubles from retry to retry.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);
/// The share of a backoff that chance may take away, so that clients do not come back together.
const JITTER: f64 = 0.25;

/// Returns whether an answer invites another attempt: the service says so, or the status does.
pub(crate) fn asks_for_retry(head: &ResponseHead) -> bool {
    match head.headers.get("x-should-retry").map(String::as_str) {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(head.status, 408 | 409 | 429 | 500..),
    }
}

/// Returns the wait the service asks for: `retry-after-ms`, or `retry-after` in seconds or as a
/// date, which is measured from `now_ms`.
pub(crate) fn requested_delay(head: &ResponseHead, now_ms: i64) -> Option<Duration> {
    let number = |name: &str, unit: f64| {
        let value: f64 = head.headers.get(name)?.trim().parse().ok()?;
        if value.is_nan() {
            return None;
        }
        // A number beyond any clock is a wait without end, not a missing one.
        Some(Duration::try_from_secs_f64((value * unit).max(0.0)).unwrap_or(Duration::MAX))
    };
    number("retry-after-ms", 0.001)
        .or_else(|| number("retry-after", 1.0))
        .or_else(|| {
            let date = http_date_ms(head.headers.get("retry-after")?)?;
            let wait = date.saturating_sub(now_ms);
            Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
        })
}

/// Reads a date as HTTP writes it, in milliseconds since the epoch.
pub(crate) fn http_date_ms(text: &str) -> Option<i64> {
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(date.timestamp().as_millisecond())
}

/// Returns the wait before the given retry (the first being 0) when the service names none;
/// `chance` is a random number from 0 to 1.
pub(crate) fn backoff(retry: u32, chance: f64) -> Duration {
    let doubled = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(retry));
    doubled
        .min(LONGEST_BACKOFF)
        .mul_f64(1.0 - JITTER * chance.clamp(0.0, 1.0))
}

/// Refuses a wait that is longer than allowed, with an error that names both and keeps the
/// service's own words.
pub(crate) fn allow_delay(
    delay: Duration,
    longest: Option<Duration>,
    refusal: &ProviderError,
) -> Result<Duration, ProviderError> {
    let longest = longest.unwrap_or(LONGEST_DELAY);
    if longest.is_zero() || delay <= longest {
        return Ok(delay);
    }
    Err(ProviderError {
        message: format!(
            "The service asks for a retry delay of {}, more than the {} allowed. {}",
            seconds(delay),
            seconds(longest),
            refusal.message
        ),
        ..refusal.clone()
    })
}

/// Words a duration in whole seconds, rounded up.
pub(crate) fn seconds(duration: Duration) -> String {
    let partial = u64::from(duration.subsec_nanos() > 0);
    format!("{}s", duration.as_secs().saturating_add(partial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    const NOW: i64 = 1_700_000_000_000;

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
    fn status_or_header_asks_for_a_retry() {
        for (status, headers, expected) in [
            (400, &[][..], false),
            (401, &[], false),
            (408, &[], true),
            (409, &[], true),
            (429, &[], true),
            (500, &[], true),
            (529, &[], true),
            (400, &[("x-should-retry", "true")], true),
            (529, &[("x-should-retry", "false")], false),
            (529, &[("x-should-retry", "maybe")], true),
        ] {
            let asked = asks_for_retry(&head(status, headers));
            assert_eq!(asked, expected, "{status} {headers:?}");
        }
    }

    #[test]
    fn the_requested_delay_is_read_in_every_form() {
        for (headers, expected) in [
            (&[][..], None),
            (&[("retry-after-ms", "250.5")], Some(250_500)),
            (&[("retry-after", "1.5")], Some(1_500_000)),
            (&[("retry-after", "-3")], Some(0)),
            (
                &[("retry-after-ms", "5"), ("retry-after", "9")],
                Some(5_000),
            ),
            (
                &[("retry-after-ms", "soon"), ("retry-after", "9")],
                Some(9_000_000),
            ),
            (
                &[("retry-after", "Tue, 14 Nov 2023 22:13:27 GMT")],
                Some(7_000_000),
            ),
            (&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], Some(0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "NaN")], None),
        ] {
            let expected = expected.map(Duration::from_micros);
            assert_eq!(
                requested_delay(&head(429, headers), NOW),
                expected,
                "{headers:?}"
            );
        }
        let endless = head(429, &[("retry-after", "1e300")]);
        assert_eq!(requested_delay(&endless, NOW), Some(Duration::MAX));
    }

    #[test]
    fn backoff_doubles_up_to_eight_seconds_less_a_quarter() {
        let millis: Vec<u128> = (0..6)
            .map(|retry| backoff(retry, 0.0).as_millis())
            .collect();
        assert_eq!(millis, [500, 1000, 2000, 4000, 8000, 8000]);
        assert_eq!(backoff(u32::MAX, 1.0), Duration::from_secs(6));
    }

    #[test]
    fn a_delay_over_the_limit_is_an_error_that_names_both() {
        let refusal = ProviderError::new(ErrorClass::RateLimited { retry_after: None }, "429 slow")
            .with_status(429);
        let (short, long) = (Duration::from_secs(2), Duration::from_millis(6_100));
        assert_eq!(allow_delay(short, Some(long), &refusal), Ok(short));
        assert_eq!(allow_delay(long, Some(Duration::ZERO), &refusal), Ok(long));
        assert_eq!(allow_delay(long, None, &refusal), Ok(long));
        assert!(allow_delay(Duration::MAX, None, &refusal).is_err());
        let error = allow_delay(long, Some(short), &refusal).unwrap_err();
        assert_eq!(error.status, Some(429));
        assert_eq!(error.class, refusal.class);
        assert_eq!(
            error.message,
            "The service asks for a retry delay of 7s, more than the 2s allowed. 429 slow"
        );
    }
}
