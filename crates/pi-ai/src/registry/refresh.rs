//! Brings a collection up to date: which providers have a credential, what is stored about their
//! models, and what the services say of them now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::provider::{Provider, RefreshContext};
use super::store::{ModelsStore, ReadAhead};
use super::{Access, Models};
use crate::credentials::{AllCredentials, AuthError, AuthOverrides, Credential};
use crate::env_vars;
use crate::error::ProviderError;

/// Whether a refresh may ask services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkAccess {
    /// Only what is stored is read.
    #[default]
    None,
    /// Services with a credential are asked, unless `PI_OFFLINE` is set.
    Allowed,
}

/// What to refresh, and how.
#[derive(Debug, Clone, Default)]
pub struct RefreshOptions {
    /// Whether to ask services.
    pub network: NetworkAccess,
    /// Whether to ask even those whose last answer is recent.
    pub force: bool,
    /// The providers, by id; all of them when absent.
    pub providers: Option<Vec<String>>,
    /// Ends the refresh; what has arrived by then stays.
    pub cancel: CancellationToken,
}

/// What came of a refresh. Providers that failed keep the models they had.
#[derive(Debug, Default)]
pub struct RefreshReport {
    /// Whether it was cancelled.
    pub aborted: bool,
    /// What went wrong, by provider.
    pub errors: BTreeMap<String, ProviderError>,
}

/// Lets one refresh of a provider run at a time: a second one waits, and then finds the answer of
/// the first.
#[derive(Default)]
pub(super) struct Turns(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    fn of(&self, provider: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(provider.to_owned()).or_default())
    }
}

/// What was read before a refresh of several providers; nothing where it could not be.
#[derive(Default)]
struct ReadBefore {
    credentials: Option<Mutex<AllCredentials>>,
    store: Option<Arc<dyn ModelsStore>>,
}

impl ReadBefore {
    /// Returns the credential of a provider, if it was read.
    fn credential(&self, provider: &str) -> Option<Result<Option<Credential>, AuthError>> {
        let credentials = self.credentials.as_ref()?;
        let mut credentials = credentials.lock().unwrap_or_else(PoisonError::into_inner);
        Some(credentials.remove(provider).transpose())
    }
}

impl Models {
    /// Looks up credentials, restores stored models and, where allowed, asks the services.
    ///
    /// One provider's failure is none of the others' business.
    pub async fn refresh(&self, options: RefreshOptions) -> RefreshReport {
        let wanted = |provider: &Arc<dyn Provider>| match &options.providers {
            Some(ids) => ids.iter().any(|id| id == provider.id()),
            None => true,
        };
        let providers: Vec<_> = self.providers().into_iter().filter(wanted).collect();
        let ahead = match providers.as_slice() {
            [] | [_] => ReadBefore::default(),
            _ => self.read_before().await,
        };
        let refreshes = providers.into_iter().map(|provider| {
            let (options, ahead) = (&options, &ahead);
            async move {
                let refresh = self.refresh_provider(provider.as_ref(), options, ahead);
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
        ahead: &ReadBefore,
    ) -> Result<(), ProviderError> {
        let turn = self.0.refreshes.of(provider.id());
        let shared = &self.0;
        // Who had to wait for another refresh asks anew: what was read before may be outdated.
        let waited = ReadBefore::default();
        let (_turn, ahead) = match turn.try_lock() {
            Ok(turn) => (turn, ahead),
            Err(_) => (turn.lock().await, &waited),
        };
        let credential = match ahead.credential(provider.id()) {
            Some(credential) => credential,
            None => shared.authenticator.store().read(provider.id()).await,
        };
        let mut context = RefreshContext {
            store: Arc::clone(ahead.store.as_ref().unwrap_or(&shared.store)),
            credential: credential.as_ref().ok().cloned().flatten(),
            api_key: None,
            network: None,
            force: options.force,
            env: shared.env.clone(),
            cancel: options.cancel.clone(),
        };
        // What is stored shows even if the credential cannot be read.
        let restored = provider.refresh(&context).await;
        let credential = credential?;
        let may_ask = match provider.auth() {
            None => true,
            Some(auth) => {
                let status = shared
                    .authenticator
                    .check_stored(&auth, credential.clone(), &shared.env)
                    .await;
                let is_configured = status.is_some();
                self.set_access(
                    provider.id(),
                    status.map(|status| Access { status, credential }),
                );
                is_configured
            }
        };
        restored?;
        let offline = shared.env.var(env_vars::OFFLINE).is_some();
        if options.network == NetworkAccess::None || offline || !may_ask {
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
        provider.refresh(&context).await
    }

    /// Reads at once what all providers would read one by one.
    async fn read_before(&self) -> ReadBefore {
        let credentials = self.0.authenticator.store().read_all().await.ok();
        let store = self.0.store.read_all().await.map(|entries| {
            let store = ReadAhead::new(entries, Arc::clone(&self.0.store));
            Arc::new(store) as Arc<dyn ModelsStore>
        });
        ReadBefore {
            credentials: credentials.map(Mutex::new),
            store,
        }
    }

    fn set_access(&self, provider: &str, access: Option<Access>) {
        let mut state = self.state_mut();
        match access {
            Some(access) => state.access.insert(provider.to_owned(), access),
            None => state.access.remove(provider),
        };
    }
}
