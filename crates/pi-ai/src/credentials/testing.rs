//! A sign-in for the tests of this folder: a service with one-use refresh tokens, in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::credential::OAuthCredential;
use crate::json::JsonObject;
use crate::oauth::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};

/// The time at which all these tests take place.
pub(super) const NOW: i64 = 1_000_000_000_000;
pub(super) const HOUR: i64 = 3_600_000;

/// A service that accepts refresh token `r1`, then `r2`, and so on, each once.
#[derive(Default)]
pub(super) struct FakeService {
    state: Mutex<State>,
    /// Set to hold every renewal until a permit is added.
    pub(super) gate: Option<Semaphore>,
    pub(super) rotates: bool,
}

#[derive(Default)]
struct State {
    used: usize,
    seen: Vec<String>,
    failures: VecDeque<OAuthError>,
}

impl FakeService {
    pub(super) fn new() -> Self {
        Self {
            rotates: true,
            ..Self::default()
        }
    }

    /// Fails the next renewals like this.
    pub(super) fn failing(failures: impl IntoIterator<Item = OAuthError>) -> Self {
        let service = Self::new();
        service.state.lock().unwrap().failures = failures.into_iter().collect();
        service
    }

    /// Returns the refresh tokens it was sent.
    pub(super) fn seen(&self) -> Vec<String> {
        self.state.lock().unwrap().seen.clone()
    }

    fn renew(&self, refresh: &str) -> Result<usize, OAuthError> {
        let mut state = self.state.lock().unwrap();
        state.seen.push(refresh.to_owned());
        if let Some(failure) = state.failures.pop_front() {
            return Err(failure);
        }
        if refresh != format!("r{}", state.used + 1) {
            return Err(rejected());
        }
        state.used += 1;
        Ok(state.used + 1)
    }
}

pub(super) fn rejected() -> OAuthError {
    OAuthError::Rejected {
        what: "the token renewal",
        status: 400,
        description: Some("invalid_grant".to_owned()),
    }
}

pub(super) fn unreachable(sent: bool) -> OAuthError {
    OAuthError::Network {
        what: "the token renewal",
        problem: "connection failed".to_owned(),
        sent,
    }
}

/// Returns the `number`th credential of the service.
pub(super) fn credential(number: usize, expires: i64) -> OAuthCredential {
    OAuthCredential {
        access: format!("a{number}").into(),
        refresh: format!("r{number}").into(),
        expires,
        extra: JsonObject::new(),
    }
}

impl OAuthFlow for Arc<FakeService> {
    fn name(&self) -> &'static str {
        "Fake"
    }

    fn rotates_refresh_token(&self) -> bool {
        self.rotates
    }

    fn login<'a>(
        &'a self,
        _context: &'a OAuthContext,
        _interaction: &'a dyn LoginInteraction,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        std::future::ready(Ok(credential(1, NOW + HOUR))).boxed()
    }

    fn refresh<'a>(
        &'a self,
        current: &'a OAuthCredential,
        _context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        async move {
            if let Some(gate) = &self.gate {
                gate.acquire().await.unwrap().forget();
            }
            let number = self.renew(current.refresh.expose_secret())?;
            let mut renewed = credential(number, NOW + HOUR);
            renewed.extra = current.extra.clone();
            Ok(renewed)
        }
        .boxed()
    }
}
