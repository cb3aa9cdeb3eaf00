//! Renews the tokens of a sign-in once, whoever asks.
//!
//! A refresh token may be good for one use only: the moment the service has seen it, the stored
//! one is worthless and the answer is the only copy of the next. What we guarantee:
//!
//! - **One renewal at a time.** Requests of this process share one task per provider; other
//!   processes wait at the store's lock, look again under it, and adopt what they find.
//! - **Nothing cuts a renewal short.** It runs in a task of its own. A request that is cancelled
//!   stops waiting; the renewal goes on and stores its result. [`Refresher::wait_for_refreshes`] waits for it.
//! - **Stored before used.** The answer is written, durably, before anybody sees the new token and
//!   before any further request.
//! - **The store is proven writable first.** Before the token is sent, the entry is written with
//!   [`STARTED`] set. A full disk or a read-only file is found out while the token is still good.
//! - **A crash is told apart from a revocation.** No client can store an answer it never saw: if
//!   the process dies between the service's decision and our write, the token is gone. But the mark
//!   is still in the entry, so the next renewal, which is tried with the old token all the same
//!   (the request may never have arrived), can say why it was refused.
//! - **Nothing is deleted.** Whatever fails, the stored credential stays. An answer that could not
//!   be written is kept in memory and written at the next occasion.
//!
//! The mark is an extra field of the entry; the TypeScript pi ignores it, and its own renewal
//! drops it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::credential::{Credential, OAuthCredential};
use super::error::AuthError;
use super::store::{CredentialStore, LockedCredential};
use crate::env::Env;
use crate::oauth::{OAuthContext, OAuthError, OAuthFlow};
use crate::transport::HttpClient;

/// Set in a stored sign-in while its refresh token is on its way, to the time it was sent.
pub(crate) const STARTED: &str = "refreshStartedAt";

const MINIMUM_VALIDITY: Duration = Duration::from_mins(5);
const TIME_LIMIT: Duration = Duration::from_secs(15);
/// What a sign-in looks up after a renewal may take this long before requests go on without it.
const ENRICH_LIMIT: Duration = Duration::from_secs(5);

type Outcome = Result<Option<OAuthCredential>, AuthError>;
type SharedOutcome = Shared<BoxFuture<'static, Outcome>>;

/// Renews sign-ins.
pub(super) struct Refresher {
    http: HttpClient,
    tasks: TaskTracker,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    under_way: HashMap<String, SharedOutcome>,
    unsaved: HashMap<String, Unsaved>,
}

/// An answer that could not be written yet.
#[derive(Clone)]
struct Unsaved {
    spent: SecretString,
    credential: OAuthCredential,
}

/// One renewal.
struct Renewal {
    store: Arc<dyn CredentialStore>,
    flow: Arc<dyn OAuthFlow>,
    provider: String,
    context: OAuthContext,
    validity_ms: i64,
    state: Arc<Mutex<State>>,
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

    /// Returns the stored sign-in, renewed if it is about to expire; `None` when it is gone.
    pub(super) async fn fresh(
        &self,
        store: &Arc<dyn CredentialStore>,
        flow: &Arc<dyn OAuthFlow>,
        provider: &str,
        stored: OAuthCredential,
        env: &Env,
        asked: Option<Duration>,
    ) -> Outcome {
        let validity = asked.map_or(MINIMUM_VALIDITY, |asked| asked.max(MINIMUM_VALIDITY));
        let validity_ms = i64::try_from(validity.as_millis()).unwrap_or(i64::MAX);
        let expires_soon =
            |credential: &OAuthCredential| credential.expires_within(validity_ms, env.now_ms());
        let mut credential = stored;
        // A renewal somebody else started may aim for a shorter validity than ours: then once more.
        for _attempt in 0..2 {
            if !expires_soon(&credential) {
                return Ok(Some(credential));
            }
            let renewal = Renewal {
                store: Arc::clone(store),
                flow: Arc::clone(flow),
                provider: provider.to_owned(),
                context: OAuthContext::new(self.http.clone(), env.clone()),
                validity_ms,
                state: Arc::clone(&self.state),
            };
            let (outcome, joined) = self.join_or_start(renewal);
            match outcome.await? {
                Some(renewed) => credential = renewed,
                None => return Ok(None),
            }
            if !joined {
                break;
            }
        }
        // Five minutes are our wish, not the service's promise; what the caller asked for is.
        if asked.is_some() && expires_soon(&credential) {
            return Err(AuthError::ExpiresTooSoon {
                provider: provider.to_owned(),
            });
        }
        Ok(Some(credential))
    }

    pub(super) async fn wait_for_refreshes(&self) {
        let under_way: Vec<_> = lock(&self.state).under_way.values().cloned().collect();
        for outcome in under_way {
            if let Err(error) = outcome.await {
                tracing::warn!(%error, "a renewal failed while the program was ending");
            }
        }
    }

    /// Returns the renewal under way, and whether somebody else started it.
    fn join_or_start(&self, renewal: Renewal) -> (SharedOutcome, bool) {
        let mut state = lock(&self.state);
        if let Some(outcome) = state.under_way.get(&renewal.provider) {
            return (outcome.clone(), true);
        }
        let provider = renewal.provider.clone();
        let task = self.tasks.spawn(renewal.run());
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
        state.under_way.insert(provider, outcome.clone());
        (outcome, false)
    }
}

impl Renewal {
    async fn run(self) -> Outcome {
        let _listed = UnderWay(&self);
        self.renew().await
    }

    async fn renew(&self) -> Outcome {
        let mut entry = self.store.lock(&self.provider).await?;
        let Some(current) = entry.current().and_then(Credential::as_oauth).cloned() else {
            return Ok(None);
        };
        if !current.expires_within(self.validity_ms, self.context.env.now_ms()) {
            return Ok(Some(current));
        }
        if let Some(kept) = self.unsaved_answer(&current) {
            return self.store_answer(entry, &current, kept).await.map(Some);
        }
        let interrupted = current.extra.contains_key(STARTED);
        if self.flow.rotates_refresh_token() {
            let mut marked = current.clone();
            let now = self.context.env.now_ms();
            marked.extra.insert(STARTED.to_owned(), Value::from(now));
            entry.save(Some(Credential::OAuth(marked))).await?;
        }
        match self.exchange(&current).await {
            Ok(mut renewed) => {
                renewed.extra.shift_remove(STARTED);
                self.store_answer(entry, &current, renewed).await.map(Some)
            }
            Err(source) => {
                self.unmark(entry.as_mut(), current, &source).await;
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
        tokio::time::timeout(TIME_LIMIT, exchange)
            .await
            .unwrap_or_else(|_elapsed| {
                Err(OAuthError::TimedOut {
                    what: "the renewal",
                    limit: TIME_LIMIT,
                })
            })
    }

    /// Writes the answer, then lets the sign-in add what it looks up with the new token.
    async fn store_answer(
        &self,
        mut entry: Box<dyn LockedCredential>,
        spent: &OAuthCredential,
        renewed: OAuthCredential,
    ) -> Result<OAuthCredential, AuthError> {
        match entry.save(Some(Credential::OAuth(renewed.clone()))).await {
            Ok(()) => {
                lock(&self.state).unsaved.remove(&self.provider);
            }
            Err(AuthError::Conflict { .. }) => {
                // Somebody took our lock over and got further than we did; theirs is the truth.
                drop(entry);
                return match self.store.read(&self.provider).await? {
                    Some(Credential::OAuth(theirs)) => Ok(theirs),
                    Some(Credential::ApiKey(_)) | None => Ok(renewed),
                };
            }
            Err(error) => {
                let kept = Unsaved {
                    spent: spent.refresh.clone(),
                    credential: renewed,
                };
                lock(&self.state)
                    .unsaved
                    .insert(self.provider.clone(), kept);
                return Err(error);
            }
        }
        let enriched = self.flow.enrich(&renewed, &self.context);
        match tokio::time::timeout(ENRICH_LIMIT, enriched).await {
            Ok(Ok(Some(enriched))) => {
                entry
                    .save(Some(Credential::OAuth(enriched.clone())))
                    .await?;
                Ok(enriched)
            }
            Ok(Ok(None)) => Ok(renewed),
            Ok(Err(error)) => {
                tracing::warn!(provider = self.provider, %error, "the account's details are unknown");
                Ok(renewed)
            }
            Err(_elapsed) => {
                tracing::warn!(
                    provider = self.provider,
                    "the account's details came too late"
                );
                Ok(renewed)
            }
        }
    }

    fn unsaved_answer(&self, current: &OAuthCredential) -> Option<OAuthCredential> {
        let state = lock(&self.state);
        let unsaved = state.unsaved.get(&self.provider)?;
        (unsaved.spent.expose_secret() == current.refresh.expose_secret())
            .then(|| unsaved.credential.clone())
    }

    /// Takes our mark away again when it is known what became of the token.
    async fn unmark(
        &self,
        entry: &mut dyn LockedCredential,
        before: OAuthCredential,
        failure: &OAuthError,
    ) {
        if !self.flow.rotates_refresh_token() || !failure.settles_the_token() {
            return;
        }
        if let Err(error) = entry.save(Some(Credential::OAuth(before))).await {
            tracing::warn!(provider = self.provider, %error, "the mark of a renewal stays");
        }
    }
}

/// Takes a renewal off the list when it ends, however it ends.
struct UnderWay<'a>(&'a Renewal);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).under_way.remove(&self.0.provider);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
