//! The sign-in on another device (RFC 8628): show a code, then ask until it has been used.
//!
//! [`Pace`] decides when to ask next and when to give up, without a clock of its own; [`poll`] does
//! the waiting.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::authorization_code::web_address;
use super::error::OAuthError;
use super::http::{TokenAnswer, TokenRequest};
use super::interaction::{LoginEvent, LoginInteraction};
use super::{OAuthContext, unless_cancelled};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
const MINIMUM_INTERVAL: Duration = Duration::from_secs(1);
const SLOW_DOWN_STEP: Duration = Duration::from_secs(5);
/// The standard requires the service to say how long a code lives; this is for those that do not.
const DEFAULT_LIFETIME: Duration = Duration::from_mins(15);
/// A laptop that changes networks must not end the sign-in.
const TOLERATED_FAILURES: u32 = 3;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// What the service gave us to show and to ask with.
#[derive(Debug)]
struct DeviceAuthorization {
    /// What we ask with.
    device_code: String,
    user_code: String,
    verification_uri: String,
    interval_seconds: Option<f64>,
    expires_in_seconds: Option<f64>,
}

/// What the service says when asked.
#[derive(Debug, PartialEq)]
pub(super) enum PollAnswer<T> {
    Pending,
    /// Not yet, and less often please.
    SlowDown {
        /// The new interval, if the service names one.
        interval_seconds: Option<f64>,
    },
    Complete(T),
}

/// When to ask next.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    deadline: Instant,
    slowed_down: bool,
    failures: u32,
}

/// Whether the code is asked about at once or after the first interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstPoll {
    Immediate,
    /// Nobody types that fast.
    Delayed,
}

impl DeviceAuthorization {
    /// Reads the service's answer. The address is prefilled with the code where the service can.
    fn from_answer(answer: &TokenAnswer) -> Result<Self, OAuthError> {
        let complete = answer
            .string("verification_uri_complete")
            .and_then(web_address);
        let address = match complete {
            Some(address) => address,
            None => web_address(answer.require("verification_uri")?).ok_or_else(|| {
                answer.protocol("has a \"verification_uri\" that is no web address")
            })?,
        };
        Ok(Self {
            device_code: answer.require("device_code")?.to_owned(),
            user_code: answer.require("user_code")?.to_owned(),
            verification_uri: address.into(),
            interval_seconds: answer.number("interval"),
            expires_in_seconds: answer.number("expires_in"),
        })
    }

    /// Returns what to show.
    fn event(&self) -> LoginEvent {
        LoginEvent::DeviceCode {
            user_code: self.user_code.clone(),
            verification_uri: self.verification_uri.clone(),
            interval_seconds: self.interval_seconds,
            expires_in_seconds: self.expires_in_seconds,
        }
    }

    /// Returns how to ask.
    fn pace(&self) -> Pace {
        Pace::new(
            self.interval_seconds,
            self.expires_in_seconds,
            Instant::now(),
        )
    }
}

impl Pace {
    pub(super) fn new(
        interval_seconds: Option<f64>,
        expires_in_seconds: Option<f64>,
        now: Instant,
    ) -> Self {
        let lifetime = expires_in_seconds
            .and_then(seconds)
            .unwrap_or(DEFAULT_LIFETIME);
        Self {
            interval: interval_seconds
                .and_then(seconds)
                .unwrap_or(DEFAULT_INTERVAL)
                .max(MINIMUM_INTERVAL),
            deadline: now
                .checked_add(lifetime)
                .unwrap_or_else(|| now + DEFAULT_LIFETIME),
            slowed_down: false,
            failures: 0,
        }
    }

    /// Takes note of an answer that was not the last.
    fn note<T>(&mut self, answer: &PollAnswer<T>) {
        self.failures = 0;
        if let PollAnswer::SlowDown { interval_seconds } = answer {
            self.slowed_down = true;
            self.interval = match interval_seconds.and_then(seconds) {
                // What the service names may be shorter than ours: its clock is what counts.
                Some(interval) => interval.max(MINIMUM_INTERVAL),
                None => self.interval + SLOW_DOWN_STEP,
            };
        }
    }

    /// Takes note of a failed request; gives it back when it is one too many.
    fn note_failure(&mut self, error: OAuthError) -> Result<(), OAuthError> {
        self.failures += 1;
        if !error.is_network() || self.failures > TOLERATED_FAILURES {
            return Err(error);
        }
        self.interval += SLOW_DOWN_STEP;
        Ok(())
    }

    /// Returns how long to wait before asking again.
    fn next_wait(&self, now: Instant) -> Result<Duration, OAuthError> {
        let left = self.deadline.saturating_duration_since(now);
        if left.is_zero() {
            return Err(OAuthError::Expired {
                slowed_down: self.slowed_down,
            });
        }
        Ok(self.interval.min(left))
    }
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|duration| !duration.is_zero())
}

/// Asks until the code was used, denied or expired.
pub(super) async fn poll<T, F>(
    mut pace: Pace,
    first: FirstPoll,
    cancel: &CancellationToken,
    mut ask: impl FnMut() -> F + Send,
) -> Result<T, OAuthError>
where
    F: Future<Output = Result<PollAnswer<T>, OAuthError>> + Send,
{
    let asking = async {
        if first == FirstPoll::Delayed {
            tokio::time::sleep(pace.next_wait(Instant::now())?).await;
        }
        loop {
            pace.next_wait(Instant::now())?;
            match ask().await {
                Ok(PollAnswer::Complete(value)) => return Ok(value),
                Ok(answer) => pace.note(&answer),
                Err(error) => pace.note_failure(error)?,
            }
            tokio::time::sleep(pace.next_wait(Instant::now())?).await;
        }
    };
    unless_cancelled(cancel, asking).await
}

/// A sign-in in the words of the standard, as data.
#[derive(Debug)]
pub(super) struct DeviceFlow<'a> {
    /// Where a code is asked for.
    pub(super) device_url: String,
    /// Where it is asked whether the code was used.
    pub(super) token_url: String,
    pub(super) client_id: &'a str,
    /// What the service wants to know beside that.
    pub(super) fields: &'a [(&'a str, &'a str)],
    /// When the code is asked about first.
    pub(super) first: FirstPoll,
}

impl DeviceFlow<'_> {
    /// Shows a code and waits until it has been used. Returns what the service grants.
    pub(super) async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenAnswer, OAuthError> {
        let fields = [&[("client_id", self.client_id)], self.fields].concat();
        let answer = TokenRequest::form("the device code", &self.device_url, &fields)
            .send_unless(context, cancel)
            .await?
            .ok()?;
        let device = DeviceAuthorization::from_answer(&answer)?;
        interaction.notify(device.event());
        let fields = [
            ("grant_type", GRANT_TYPE),
            ("client_id", self.client_id),
            ("device_code", device.device_code.as_str()),
        ];
        poll(device.pace(), self.first, cancel, || async {
            let answer = TokenRequest::form("the device sign-in", &self.token_url, &fields)
                .send(context)
                .await?;
            judge(answer)
        })
        .await
    }
}

/// Reads an answer in the words of the standard.
fn judge(answer: TokenAnswer) -> Result<PollAnswer<TokenAnswer>, OAuthError> {
    match answer.error_code() {
        Some("authorization_pending") => Ok(PollAnswer::Pending),
        Some("slow_down") => Ok(PollAnswer::SlowDown {
            interval_seconds: answer.number("interval"),
        }),
        Some("access_denied" | "authorization_denied") => Err(OAuthError::Denied {
            description: answer.string("error_description").map(str::to_owned),
        }),
        Some("expired_token") => Err(OAuthError::Expired { slowed_down: false }),
        Some(_) => Err(answer.refusal()),
        None => answer.ok().map(PollAnswer::Complete),
    }
}

#[cfg(test)]
mod tests;
