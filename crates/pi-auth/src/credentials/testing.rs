//! Test support: an in-memory OAuth service with one-time refresh tokens.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::Mutex;
use pi_protocol::json::JsonObject;
use secrecy::ExposeSecret;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::credential::OAuthCredential;
use crate::oauth::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};

/// The current time in these tests.
pub(super) const NOW: i64 = 1_000_000_000_000;
pub(super) const HOUR: i64 = 3_600_000;

/// A service that accepts the refresh tokens `r1`, `r2`, and so on, each once.
#[derive(Default)]
pub(super) struct FakeService {
    state: Mutex<FakeServiceState>,
    /// If set, every refresh waits for a permit.
    pub(super) gate: Option<Semaphore>,
    pub(super) rotates: bool,
}

#[derive(Default)]
struct FakeServiceState {
    used: usize,
    received: Vec<String>,
    failures: VecDeque<OAuthError>,
}

impl FakeService {
    pub(super) fn new() -> Self {
        Self {
            rotates: true,
            ..Self::default()
        }
    }

    /// Fails the next refreshes with these errors.
    pub(super) fn failing(failures: impl IntoIterator<Item = OAuthError>) -> Self {
        let service = Self::new();
        service.state.lock().failures = failures.into_iter().collect();
        service
    }

    /// Returns the refresh tokens received so far.
    pub(super) fn received(&self) -> Vec<String> {
        self.state.lock().received.clone()
    }

    fn accept_refresh(&self, refresh: &str) -> Result<usize, OAuthError> {
        let mut state = self.state.lock();
        state.received.push(refresh.to_owned());
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
        what: "token refresh",
        status: 400,
        description: Some("invalid_grant".to_owned()),
    }
}

pub(super) fn unreachable(sent: bool) -> OAuthError {
    OAuthError::Network {
        what: "token refresh",
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
            let number = self.accept_refresh(current.refresh.expose_secret())?;
            let mut refreshed = credential(number, NOW + HOUR);
            refreshed.extra = current.extra.clone();
            Ok(refreshed)
        }
        .boxed()
    }
}
