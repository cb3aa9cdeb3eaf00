//! Refreshes OAuth tokens, once per provider at a time.
//!
//! A refresh token may be valid for one use only: once the service has seen it, the stored token is
//! worthless and the response holds the only copy of the next one. Guarantees:
//!
//! - **One refresh at a time.** Requests in this process share one task per provider. Other
//!   processes wait for the store's lock, re-read the entry under it, and adopt what they find.
//! - **A refresh is never cut short.** It runs in its own task. A canceled request stops waiting;
//!   the refresh continues and stores its result. [`Refresher::wait_for_refreshes`] waits for it.
//! - **Stored before used.** The response is written durably before the new token is returned and
//!   before any further request is sent.
//! - **The store is known to be writable.** Before the token is sent, the entry is written with
//!   [`REFRESH_STARTED`] set. A full disk or a read-only file is detected while the token is still
//!   valid.
//! - **A crash is distinguishable from a revocation.** No client can store a response it never
//!   received: if the process dies between the service's decision and our write, the token is lost.
//!   The mark is still in the entry, though, so if the next refresh is rejected, the error can
//!   explain why. (It is attempted with the old token, because the request may never have arrived.)
//! - **Nothing is deleted.** On any failure the stored credential is kept. A response that could not
//!   be written stays in memory and is written at the next opportunity.
//!
//! The mark is an extra field of the entry. The TypeScript version of pi ignores it, and drops it
//! when it refreshes the token.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_http::HttpClient;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::credential::{Credential, OAuthCredential};
use super::error::AuthError;
use super::store::{CredentialStore, LockedCredential};
use crate::oauth::{OAuthContext, OAuthError, OAuthFlow};

/// Field of a stored credential: when its refresh token was sent, set while the refresh is in
/// progress.
pub(crate) const REFRESH_STARTED: &str = "refreshStartedAt";

const DEFAULT_VALIDITY: Duration = Duration::from_mins(5);
const REFRESH_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the flow may take to look up account details after a refresh before requests proceed
/// without them.
const ENRICH_TIMEOUT: Duration = Duration::from_secs(5);

/// How many used tokens are kept for redaction: those of a week, if one is refreshed every hour.
const MAX_USED_TOKENS: usize = 400;

type RefreshOutcome = Result<Option<OAuthCredential>, AuthError>;
type SharedRefreshOutcome = Shared<BoxFuture<'static, RefreshOutcome>>;

pub(super) struct Refresher {
    http: HttpClient,
    tasks: TaskTracker,
    state: Arc<Mutex<RefresherState>>,
}

#[derive(Default)]
struct RefresherState {
    in_flight: HashMap<String, SharedRefreshOutcome>,
    unsaved: HashMap<String, UnsavedTokens>,
    /// Tokens that were used in this process, oldest first.
    used: VecDeque<SecretString>,
}

impl RefresherState {
    fn remember(&mut self, credential: &OAuthCredential) {
        for token in [&credential.access, &credential.refresh] {
            let token_text = token.expose_secret();
            if self
                .used
                .iter()
                .any(|used| used.expose_secret() == token_text)
            {
                continue;
            }
            self.used.push_back(token.clone());
            if self.used.len() > MAX_USED_TOKENS {
                self.used.pop_front();
            }
        }
    }
}

/// Refreshed tokens that could not be written yet.
#[derive(Clone)]
struct UnsavedTokens {
    spent: SecretString,
    credential: OAuthCredential,
}

struct RefreshTask {
    store: Arc<dyn CredentialStore>,
    flow: Arc<dyn OAuthFlow>,
    provider: String,
    context: OAuthContext,
    validity_ms: i64,
    state: Arc<Mutex<RefresherState>>,
}

impl Refresher {
    pub(super) fn new(http: HttpClient) -> Self {
        Self {
            http,
            tasks: TaskTracker::new(),
            state: Arc::default(),
        }
    }

    pub(super) fn http(&self) -> &HttpClient {
        &self.http
    }

    /// Returns the tokens that were used in this process, including those that were replaced.
    pub(super) fn used_tokens(&self) -> Vec<SecretString> {
        lock(&self.state).used.iter().cloned().collect()
    }

    /// Returns the stored credential, refreshed if it is about to expire; `None` if it was removed.
    pub(super) async fn ensure_fresh(
        &self,
        store: &Arc<dyn CredentialStore>,
        flow: &Arc<dyn OAuthFlow>,
        provider: &str,
        stored: OAuthCredential,
        env: &Env,
        min_validity: Option<Duration>,
    ) -> RefreshOutcome {
        let validity =
            min_validity.map_or(DEFAULT_VALIDITY, |validity| validity.max(DEFAULT_VALIDITY));
        let validity_ms = i64::try_from(validity.as_millis()).unwrap_or(i64::MAX);
        let expires_soon =
            |credential: &OAuthCredential| credential.expires_within(validity_ms, env.now_ms());
        let mut credential = stored;
        lock(&self.state).remember(&credential);
        // A refresh that another request started may aim for a shorter validity than ours; then try
        // once more.
        for _attempt in 0..2 {
            if !expires_soon(&credential) {
                return Ok(Some(credential));
            }
            let task = RefreshTask {
                store: Arc::clone(store),
                flow: Arc::clone(flow),
                provider: provider.to_owned(),
                context: OAuthContext::new(self.http.clone(), env.clone()),
                validity_ms,
                state: Arc::clone(&self.state),
            };
            let (outcome, joined) = self.join_or_start(task);
            match outcome.await? {
                Some(refreshed) => {
                    lock(&self.state).remember(&refreshed);
                    credential = refreshed;
                }
                None => return Ok(None),
            }
            if !joined {
                break;
            }
        }
        // The default validity is only a preference, but the caller's minimum is a requirement.
        if min_validity.is_some() && expires_soon(&credential) {
            return Err(AuthError::ExpiresTooSoon {
                provider: provider.to_owned(),
            });
        }
        Ok(Some(credential))
    }

    pub(super) async fn wait_for_refreshes(&self) {
        let in_flight: Vec<_> = lock(&self.state).in_flight.values().cloned().collect();
        for outcome in in_flight {
            if let Err(error) = outcome.await {
                tracing::warn!(%error, "token refresh failed during shutdown");
            }
        }
    }

    /// Returns the refresh in progress, and whether another request started it.
    fn join_or_start(&self, task: RefreshTask) -> (SharedRefreshOutcome, bool) {
        let mut state = lock(&self.state);
        if let Some(outcome) = state.in_flight.get(&task.provider) {
            return (outcome.clone(), true);
        }
        let provider = task.provider.clone();
        let task = self.tasks.spawn(task.run());
        let lost = provider.clone();
        let outcome = async move {
            task.await.unwrap_or_else(|error| {
                Err(AuthError::Refresh {
                    provider: lost,
                    source: OAuthError::Internal(error.to_string()),
                    interrupted: true,
                })
            })
        }
        .boxed()
        .shared();
        state.in_flight.insert(provider, outcome.clone());
        (outcome, false)
    }
}

impl RefreshTask {
    async fn run(self) -> RefreshOutcome {
        let _listed = InFlightGuard(&self);
        self.refresh().await
    }

    async fn refresh(&self) -> RefreshOutcome {
        let mut entry = self.store.lock(&self.provider).await?;
        let Some(current) = entry.current().and_then(Credential::as_oauth).cloned() else {
            return Ok(None);
        };
        if !current.expires_within(self.validity_ms, self.context.env.now_ms()) {
            return Ok(Some(current));
        }
        if let Some(unsaved) = self.unsaved_tokens(&current) {
            return self.store_tokens(entry, &current, unsaved).await.map(Some);
        }
        let interrupted = current.extra.contains_key(REFRESH_STARTED);
        if self.flow.rotates_refresh_token() {
            let mut marked = current.clone();
            let now = self.context.env.now_ms();
            marked
                .extra
                .insert(REFRESH_STARTED.to_owned(), Value::from(now));
            entry.save(Some(Credential::OAuth(marked))).await?;
        }
        match self.exchange(&current).await {
            Ok(mut refreshed) => {
                refreshed.extra.shift_remove(REFRESH_STARTED);
                self.store_tokens(entry, &current, refreshed)
                    .await
                    .map(Some)
            }
            Err(source) => {
                self.clear_mark(entry.as_mut(), current, &source).await;
                Err(AuthError::Refresh {
                    provider: self.provider.clone(),
                    source,
                    interrupted,
                })
            }
        }
    }

    async fn exchange(&self, current: &OAuthCredential) -> Result<OAuthCredential, OAuthError> {
        let exchange = self.flow.refresh(current, &self.context);
        tokio::time::timeout(REFRESH_TIMEOUT, exchange)
            .await
            .unwrap_or_else(|_elapsed| {
                Err(OAuthError::TimedOut {
                    what: "token refresh",
                    limit: REFRESH_TIMEOUT,
                })
            })
    }

    /// Stores the new tokens, then lets the flow add account details.
    async fn store_tokens(
        &self,
        mut entry: Box<dyn LockedCredential>,
        spent: &OAuthCredential,
        refreshed: OAuthCredential,
    ) -> Result<OAuthCredential, AuthError> {
        match entry.save(Some(Credential::OAuth(refreshed.clone()))).await {
            Ok(()) => {
                lock(&self.state).unsaved.remove(&self.provider);
            }
            Err(AuthError::Conflict { .. }) => {
                // Another process took over the lock and stored its own tokens; use those.
                drop(entry);
                return match self.store.read(&self.provider).await? {
                    Some(Credential::OAuth(current)) => Ok(current),
                    Some(Credential::ApiKey(_)) | None => Ok(refreshed),
                };
            }
            Err(error) => {
                let unsaved = UnsavedTokens {
                    spent: spent.refresh.clone(),
                    credential: refreshed,
                };
                lock(&self.state)
                    .unsaved
                    .insert(self.provider.clone(), unsaved);
                return Err(error);
            }
        }
        let enriched = self.flow.enrich(&refreshed, &self.context);
        match tokio::time::timeout(ENRICH_TIMEOUT, enriched).await {
            Ok(Ok(Some(enriched))) => {
                entry
                    .save(Some(Credential::OAuth(enriched.clone())))
                    .await?;
                Ok(enriched)
            }
            Ok(Ok(None)) => Ok(refreshed),
            Ok(Err(error)) => {
                tracing::warn!(provider = self.provider, %error, "cannot look up account details");
                Ok(refreshed)
            }
            Err(_elapsed) => {
                tracing::warn!(
                    provider = self.provider,
                    "account lookup exceeded its time limit"
                );
                Ok(refreshed)
            }
        }
    }

    fn unsaved_tokens(&self, current: &OAuthCredential) -> Option<OAuthCredential> {
        let state = lock(&self.state);
        let unsaved = state.unsaved.get(&self.provider)?;
        (unsaved.spent.expose_secret() == current.refresh.expose_secret())
            .then(|| unsaved.credential.clone())
    }

    /// Removes the mark if the refresh token is known to be unspent.
    async fn clear_mark(
        &self,
        entry: &mut dyn LockedCredential,
        before: OAuthCredential,
        failure: &OAuthError,
    ) {
        if !self.flow.rotates_refresh_token() || !failure.proves_token_unspent() {
            return;
        }
        if let Err(error) = entry.save(Some(Credential::OAuth(before))).await {
            tracing::warn!(provider = self.provider, %error, "cannot remove the refresh mark");
        }
    }
}

/// Removes a refresh from the in-flight map when it ends, on success or failure.
struct InFlightGuard<'a>(&'a RefreshTask);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).in_flight.remove(&self.0.provider);
    }
}

fn lock(state: &Mutex<RefresherState>) -> MutexGuard<'_, RefresherState> {
    state.lock()
}

#[cfg(test)]
mod tests;
