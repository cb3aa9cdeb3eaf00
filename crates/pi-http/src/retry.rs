//! Whether and when a request that failed before its response began is retried.
//!
//! This is the retry of a single request, off by default. [`pi_protocol::retry`] decides about the
//! agent's retry, which restarts the turn.

use std::time::Duration;

use pi_protocol::ProviderError;

use crate::ResponseHead;

/// Longest `retry-after` delay to accept when the options set no limit.
const DEFAULT_MAX_DELAY: Duration = Duration::from_mins(1);

/// A longer delay is an error even without a limit: no user waits for it, and a service that sends
/// `inf` does not mean it.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// Delay before the first retry when the service sends none; doubles with every retry.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// Share of a backoff that is randomized, so that clients do not retry in lockstep.
const JITTER: f64 = 0.25;

/// Whether a failed response may be retried: `x-should-retry` decides, otherwise the status.
pub fn is_retryable(head: &ResponseHead) -> bool {
    match head.headers.get("x-should-retry").map(String::as_str) {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(head.status, 408 | 409 | 429 | 500..),
    }
}

/// Returns the delay requested by the service: `retry-after-ms`, or `retry-after` in seconds or as a
/// date, relative to `now_ms`.
pub fn requested_delay(head: &ResponseHead, now_ms: i64) -> Option<Duration> {
    let number = |name: &str, unit: f64| {
        let value: f64 = head.headers.get(name)?.trim().parse().ok()?;
        if value.is_nan() {
            return None;
        }
        // A number that overflows is an endless delay, not a missing one.
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

/// Parses an HTTP date into milliseconds since the epoch.
pub fn http_date_ms(text: &str) -> Option<i64> {
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(date.timestamp().as_millisecond())
}

/// Returns the delay before the given retry (the first is 0) when the service sends none;
/// `chance` is a random number from 0 to 1.
pub fn backoff(retry: u32, chance: f64) -> Duration {
    let doubled = INITIAL_BACKOFF.saturating_mul(2_u32.saturating_pow(retry));
    doubled
        .min(MAX_BACKOFF)
        .mul_f64(1.0 - JITTER * chance.clamp(0.0, 1.0))
}

/// Rejects a delay longer than allowed, with an error that contains both and the provider's
/// error message.
pub fn allow_delay(
    delay: Duration,
    max_delay: Option<Duration>,
    error: &ProviderError,
) -> Result<Duration, ProviderError> {
    let max_delay = match max_delay.unwrap_or(DEFAULT_MAX_DELAY) {
        Duration::ZERO => LONGEST_DELAY,
        limit => limit.min(LONGEST_DELAY),
    };
    if delay <= max_delay {
        return Ok(delay);
    }
    Err(ProviderError {
        message: format!(
            "The service requested a retry delay of {}, more than the {} allowed. {}",
            seconds(delay),
            seconds(max_delay),
            error.message
        ),
        ..error.clone()
    })
}

/// Formats a duration in seconds, rounded up.
pub(crate) fn seconds(duration: Duration) -> String {
    let partial = u64::from(duration.subsec_nanos() > 0);
    format!("{}s", duration.as_secs().saturating_add(partial))
}

#[cfg(test)]
mod tests {
    use pi_protocol::ErrorClass;

    use super::*;

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
    fn header_or_status_makes_a_response_retryable() {
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
            let retryable = is_retryable(&head(status, headers));
            assert_eq!(retryable, expected, "{status} {headers:?}");
        }
    }

    #[test]
    fn the_requested_delay_is_parsed_in_every_form() {
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
        for endless in ["1e300", "inf", "Infinity"] {
            let endless = head(429, &[("retry-after", endless)]);
            assert_eq!(requested_delay(&endless, NOW), Some(Duration::MAX));
        }
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
    fn a_delay_over_the_limit_is_an_error_with_both_durations() {
        let error = ProviderError::new(ErrorClass::RateLimited { retry_after: None }, "429 slow")
            .with_status(429);
        let (short, long) = (Duration::from_secs(2), Duration::from_millis(6_100));
        assert_eq!(allow_delay(short, Some(long), &error), Ok(short));
        assert_eq!(allow_delay(long, Some(Duration::ZERO), &error), Ok(long));
        assert_eq!(allow_delay(long, None, &error), Ok(long));
        for endless in [Duration::from_secs(1 << 60), Duration::MAX] {
            for limit in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
                assert!(allow_delay(endless, limit, &error).is_err());
            }
        }
        let error = allow_delay(long, Some(short), &error).unwrap_err();
        assert_eq!(error.status, Some(429));
        assert_eq!(error.class, error.class);
        assert_eq!(
            error.message,
            "The service requested a retry delay of 7s, more than the 2s allowed. 429 slow"
        );
    }
}
