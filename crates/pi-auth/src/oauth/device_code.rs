//! Device-code flow (RFC 8628): shows a code, then polls until it has been used.
//!
//! [`PollSchedule`] decides when to poll next and when the code has expired, based on the time it is
//! given; [`poll`] does the waiting.

use std::time::Duration;

use pi_protocol::{DeviceCodeActions, LoginEvent};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::authorization_code::parse_web_url;
use super::error::OAuthError;
use super::http::{TokenRequest, TokenResponse};
use super::interaction::LoginInteraction;
use super::{OAuthContext, unless_cancelled};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
const MINIMUM_INTERVAL: Duration = Duration::from_secs(1);
const SLOW_DOWN_STEP: Duration = Duration::from_secs(5);
/// Fallback for services that omit `expires_in`, which the RFC requires.
const DEFAULT_LIFETIME: Duration = Duration::from_mins(15);
/// Tolerated so that a laptop that changes networks does not abort the sign-in.
const MAX_FAILURES: u32 = 3;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Response of the device authorization endpoint.
#[derive(Debug)]
struct DeviceAuthorization {
    device_code: String,
    user_code: String,
    verification_uri: String,
    interval_seconds: Option<f64>,
    expires_in_seconds: Option<f64>,
}

/// Status of a device-code request.
#[derive(Debug, PartialEq)]
pub(super) enum PollStatus<T> {
    Pending,
    /// Still pending; poll less often.
    SlowDown {
        /// New interval, if the service specifies one.
        interval_seconds: Option<f64>,
    },
    Complete(T),
}

/// When to poll next.
#[derive(Debug)]
pub(super) struct PollSchedule {
    interval: Duration,
    deadline: Instant,
    slowed_down: bool,
    failures: u32,
}

/// Whether to poll immediately or after the first interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstPoll {
    Immediate,
    /// No user enters a code that fast.
    Delayed,
}

impl DeviceAuthorization {
    /// Parses the response. Prefers the URL that includes the code, if the service provides one.
    fn from_response(response: &TokenResponse) -> Result<Self, OAuthError> {
        let complete = response
            .string("verification_uri_complete")
            .and_then(parse_web_url);
        let url = match complete {
            Some(url) => url,
            None => parse_web_url(response.require("verification_uri")?)
                .ok_or_else(|| response.protocol("has an invalid \"verification_uri\""))?,
        };
        Ok(Self {
            device_code: response.require("device_code")?.to_owned(),
            user_code: response.require("user_code")?.to_owned(),
            verification_uri: url.into(),
            interval_seconds: response.number("interval"),
            expires_in_seconds: response.number("expires_in"),
        })
    }

    fn event(&self) -> LoginEvent {
        LoginEvent::DeviceCode {
            user_code: self.user_code.clone(),
            verification_uri: self.verification_uri.clone(),
            interval_seconds: self.interval_seconds,
            expires_in_seconds: self.expires_in_seconds,
            on_confirm: DeviceCodeActions::default(),
        }
    }

    fn schedule(&self) -> PollSchedule {
        PollSchedule::new(
            self.interval_seconds,
            self.expires_in_seconds,
            Instant::now(),
        )
    }
}

impl PollSchedule {
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

    /// Updates the schedule after a response that is not final.
    fn update<T>(&mut self, response: &PollStatus<T>) {
        self.failures = 0;
        if let PollStatus::SlowDown { interval_seconds } = response {
            self.slowed_down = true;
            self.interval = match interval_seconds.and_then(seconds) {
                // The service's interval may be shorter than ours; it takes precedence.
                Some(interval) => interval.max(MINIMUM_INTERVAL),
                None => self.interval + SLOW_DOWN_STEP,
            };
        }
    }

    /// Records a failed request; returns the error if it is final or one too many.
    fn record_failure(&mut self, error: OAuthError) -> Result<(), OAuthError> {
        self.failures += 1;
        if !error.is_network() || self.failures > MAX_FAILURES {
            return Err(error);
        }
        self.interval += SLOW_DOWN_STEP;
        Ok(())
    }

    /// Returns how long to wait before the next poll.
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

/// Polls until the code was used, denied or has expired.
pub(super) async fn poll<T, F>(
    mut schedule: PollSchedule,
    first: FirstPoll,
    cancel: &CancellationToken,
    mut send_poll: impl FnMut() -> F + Send,
) -> Result<T, OAuthError>
where
    F: Future<Output = Result<PollStatus<T>, OAuthError>> + Send,
{
    let polling = async {
        if first == FirstPoll::Delayed {
            tokio::time::sleep(schedule.next_wait(Instant::now())?).await;
        }
        loop {
            schedule.next_wait(Instant::now())?;
            match send_poll().await {
                Ok(PollStatus::Complete(value)) => return Ok(value),
                Ok(response) => schedule.update(&response),
                Err(error) => schedule.record_failure(error)?,
            }
            tokio::time::sleep(schedule.next_wait(Instant::now())?).await;
        }
    };
    unless_cancelled(cancel, polling).await
}

/// Configuration of a standard device-code flow.
#[derive(Debug)]
pub(super) struct DeviceFlow<'a> {
    /// Device authorization endpoint.
    pub(super) device_url: String,
    /// Token endpoint.
    pub(super) token_url: String,
    pub(super) client_id: &'a str,
    /// Additional fields for the device authorization request.
    pub(super) fields: &'a [(&'a str, &'a str)],
    pub(super) first: FirstPoll,
}

impl DeviceFlow<'_> {
    /// Shows a code, waits until it has been used and returns the token response.
    pub(super) async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenResponse, OAuthError> {
        let fields = [&[("client_id", self.client_id)], self.fields].concat();
        let response = TokenRequest::form("device code request", &self.device_url, &fields)
            .send_cancellable(context, cancel)
            .await?
            .ok()?;
        let device = DeviceAuthorization::from_response(&response)?;
        interaction.notify(device.event());
        let fields = [
            ("grant_type", GRANT_TYPE),
            ("client_id", self.client_id),
            ("device_code", device.device_code.as_str()),
        ];
        poll(device.schedule(), self.first, cancel, || async {
            let response = TokenRequest::form("device sign-in", &self.token_url, &fields)
                .send(context)
                .await?;
            parse_poll_response(response)
        })
        .await
    }
}

/// Parses a standard poll response.
fn parse_poll_response(response: TokenResponse) -> Result<PollStatus<TokenResponse>, OAuthError> {
    match response.error_code() {
        Some("authorization_pending") => Ok(PollStatus::Pending),
        Some("slow_down") => Ok(PollStatus::SlowDown {
            interval_seconds: response.number("interval"),
        }),
        Some("access_denied" | "authorization_denied") => Err(OAuthError::Denied {
            description: response.string("error_description").map(str::to_owned),
        }),
        Some("expired_token") => Err(OAuthError::Expired { slowed_down: false }),
        Some(_) => Err(response.error_from_code()),
        None => response.ok().map(PollStatus::Complete),
    }
}

#[cfg(test)]
mod tests;
