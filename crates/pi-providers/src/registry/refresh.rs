//! Refreshes the registry: determines which providers have credentials, restores stored models and
//! fetches current ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use pi_auth::{AllCredentials, AuthError, AuthOverrides, Credential};
use pi_env::env_vars;
use pi_http::KnownSecrets;
use pi_protocol::ProviderError;
use secrecy::ExposeSecret as _;
use tokio_util::sync::CancellationToken;

use super::provider::{Provider, RefreshContext};
use super::store::{ModelsStore, PrefetchedStore};
use super::{Models, ProviderAccess};

/// Whether a refresh may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkAccess {
    /// Only read stored data.
    #[default]
    None,
    /// Query services that have a credential, unless `PI_OFFLINE` is set.
    Allowed,
}

#[derive(Debug, Clone, Default)]
pub struct RefreshOptions {
    pub network: NetworkAccess,
    /// Whether to query services even if their last response is recent.
    pub force: bool,
    /// Provider IDs; `None` refreshes all.
    pub providers: Option<Vec<String>>,
    /// Cancels the refresh; results received so far are kept.
    pub cancel: CancellationToken,
}

/// Result of a refresh. Providers that failed keep their previous models.
#[derive(Debug, Default)]
pub struct RefreshReport {
    /// Whether the refresh was canceled.
    pub aborted: bool,
    /// Errors by provider.
    pub errors: BTreeMap<String, ProviderError>,
}

/// Serializes the refreshes of each provider: a second refresh waits and then finds the result of
/// the first.
#[derive(Default)]
pub(super) struct RefreshLocks(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl RefreshLocks {
    fn of(&self, provider: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock();
        Arc::clone(locks.entry(provider.to_owned()).or_default())
    }
}

/// Data read ahead of a refresh of several providers; `None` where that failed.
#[derive(Default)]
struct Prefetched {
    credentials: Option<Mutex<AllCredentials>>,
    store: Option<Arc<dyn ModelsStore>>,
}

impl Prefetched {
    /// Returns a provider's credential, if credentials were prefetched.
    fn credential(&self, provider: &str) -> Option<Result<Option<Credential>, AuthError>> {
        let credentials = self.credentials.as_ref()?;
        let mut credentials = credentials.lock();
        Some(credentials.remove(provider).transpose())
    }
}

impl Models {
    /// Checks credentials, restores stored models and, if allowed, queries the services.
    ///
    /// A failing provider does not affect the others.
    pub async fn refresh(&self, options: RefreshOptions) -> RefreshReport {
        let is_selected = |provider: &Arc<dyn Provider>| match &options.providers {
            Some(ids) => ids.iter().any(|id| id == provider.id()),
            None => true,
        };
        let providers: Vec<_> = self.providers().into_iter().filter(is_selected).collect();
        let prefetched = match providers.as_slice() {
            [] | [_] => Prefetched::default(),
            _ => self.prefetch().await,
        };
        let refreshes = providers.into_iter().map(|provider| {
            let (options, prefetched) = (&options, &prefetched);
            async move {
                let refresh = self.refresh_provider(provider.as_ref(), options, prefetched);
                let outcome = options.cancel.run_until_cancelled(refresh).await;
                (provider.id().to_owned(), outcome)
            }
        });
        let mut report = RefreshReport::default();
        for (id, outcome) in join_all(refreshes).await {
            match outcome {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    report.errors.insert(id, error);
                }
                None => report.aborted = true,
            }
        }
        report
    }

    async fn refresh_provider(
        &self,
        provider: &dyn Provider,
        options: &RefreshOptions,
        prefetched: &Prefetched,
    ) -> Result<(), ProviderError> {
        let lock = self.0.refreshes.of(provider.id());
        let shared = &self.0;
        // After waiting for another refresh, the prefetched data may be outdated, so read again.
        let empty = Prefetched::default();
        let (_guard, prefetched) = match lock.try_lock() {
            Ok(guard) => (guard, prefetched),
            Err(_) => (lock.lock().await, &empty),
        };
        let credential = match prefetched.credential(provider.id()) {
            Some(credential) => credential,
            None => shared.authenticator.store().read(provider.id()).await,
        };
        let mut context = RefreshContext {
            store: Arc::clone(prefetched.store.as_ref().unwrap_or(&shared.store)),
            credential: credential.as_ref().ok().cloned().flatten(),
            api_key: None,
            network: None,
            base_url: None,
            force: options.force,
            env: shared.env.clone(),
            cancel: options.cancel.clone(),
        };
        // Restore stored models even if the credential cannot be read.
        let restored = provider.refresh(&context).await;
        let credential = credential?;
        let can_query = match provider.auth() {
            None => true,
            Some(auth) => {
                let status = shared
                    .authenticator
                    .check_stored(&auth, credential.clone(), &shared.env)
                    .await;
                let is_configured = status.is_some();
                self.set_access(
                    provider.id(),
                    status.map(|status| ProviderAccess { status, credential }),
                );
                is_configured
            }
        };
        restored?;
        let offline = shared.env.var(env_vars::OFFLINE).is_some();
        if options.network == NetworkAccess::None || offline || !can_query {
            return Ok(());
        }
        if let Some(auth) = provider.auth() {
            let authenticator = &shared.authenticator;
            let found = authenticator
                .resolve(&auth, &shared.env, &AuthOverrides::default())
                .await?;
            let Some(found) = found else { return Ok(()) };
            context.api_key = found.api_key;
        }
        context.network = Some(shared.http.clone());
        let key = context.api_key.iter();
        let secrets = KnownSecrets::new(key.map(|key| key.expose_secret().to_owned()));
        provider.refresh(&context).await.map_err(|error| {
            // Services may repeat the key in their errors.
            let message = secrets.redact(error.message);
            ProviderError { message, ..error }
        })
    }

    /// Reads in bulk what the providers would otherwise read one by one.
    async fn prefetch(&self) -> Prefetched {
        let credentials = self.0.authenticator.store().read_all().await.ok();
        let store = self.0.store.read_all().await.map(|entries| {
            let store = PrefetchedStore::new(entries, Arc::clone(&self.0.store));
            Arc::new(store) as Arc<dyn ModelsStore>
        });
        Prefetched {
            credentials: credentials.map(Mutex::new),
            store,
        }
    }

    fn set_access(&self, provider: &str, access: Option<ProviderAccess>) {
        let mut state = self.state_mut();
        match access {
            Some(access) => state.access.insert(provider.to_owned(), access),
            None => state.access.remove(provider),
        };
    }
}
