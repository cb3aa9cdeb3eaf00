//! Where credentials live: one per provider, read freely, changed only under a lock.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::OwnedMutexGuard;

use super::credential::{AuthKind, Credential};
use super::error::AuthError;

/// What may be told about a stored credential without reading its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialInfo {
    /// The provider it belongs to.
    pub provider: String,
    pub kind: AuthKind,
}

/// Credentials by provider, those that cannot be understood as what is wrong with them.
pub type AllCredentials = BTreeMap<String, Result<Credential, AuthError>>;

/// A place for credentials, one per provider.
pub trait CredentialStore: Send + Sync {
    /// Returns the stored credential as it is, possibly expired, its templates unresolved.
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, AuthError>>;

    /// Reads all stored credentials at once, as [`CredentialStore::read`] does each.
    fn read_all(&self) -> BoxFuture<'_, Result<AllCredentials, AuthError>> {
        async move {
            let mut all = AllCredentials::new();
            for info in self.list().await? {
                if let Some(credential) = self.read(&info.provider).await.transpose() {
                    all.insert(info.provider, credential);
                }
            }
            Ok(all)
        }
        .boxed()
    }

    /// Lists what is stored. Shows no secret and runs no command.
    fn list(&self) -> BoxFuture<'_, Result<Vec<CredentialInfo>, AuthError>>;

    /// Takes the lock, waiting for other holders in this process and in others, and reads the
    /// credential under it. Dropping the guard releases the lock.
    fn lock<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn LockedCredential>, AuthError>>;

    /// Stores a credential, replacing the one that was there.
    fn put<'a>(
        &'a self,
        provider: &'a str,
        credential: Credential,
    ) -> BoxFuture<'a, Result<(), AuthError>> {
        async move { self.lock(provider).await?.save(Some(credential)).await }.boxed()
    }

    /// Removes a credential.
    fn delete<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        async move { self.lock(provider).await?.save(None).await }.boxed()
    }
}

/// A credential nobody else can change while this guard lives.
pub trait LockedCredential: Send {
    /// Returns the credential as it was read under the lock, or as it was last saved.
    fn current(&self) -> Option<&Credential>;

    /// Stores the credential, or removes it. When this returns, the change is durable.
    ///
    /// May be called several times under one lock. Fails with [`AuthError::Conflict`] when the lock
    /// was lost and the entry is no longer what this guard last saw.
    fn save(&mut self, credential: Option<Credential>) -> BoxFuture<'_, Result<(), AuthError>>;
}

/// Credentials that live as long as the process.
#[derive(Default, Clone)]
pub struct InMemoryCredentialStore {
    entries: Arc<RwLock<BTreeMap<String, Credential>>>,
    writer: Arc<tokio::sync::Mutex<()>>,
}

impl InMemoryCredentialStore {
    /// Creates a store of these credentials.
    pub fn new(entries: impl IntoIterator<Item = (String, Credential)>) -> Self {
        Self {
            entries: Arc::new(RwLock::new(entries.into_iter().collect())),
            writer: Arc::default(),
        }
    }

    fn get(&self, provider: &str) -> Option<Credential> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(provider).cloned()
    }
}

impl CredentialStore for InMemoryCredentialStore {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, AuthError>> {
        std::future::ready(Ok(self.get(provider))).boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<CredentialInfo>, AuthError>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let list = entries
            .iter()
            .map(|(provider, credential)| CredentialInfo {
                provider: provider.clone(),
                kind: credential.kind(),
            })
            .collect();
        std::future::ready(Ok(list)).boxed()
    }

    fn lock<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn LockedCredential>, AuthError>> {
        async move {
            let guard = Arc::clone(&self.writer).lock_owned().await;
            Ok(Box::new(LockedEntry {
                current: self.get(provider),
                provider: provider.to_owned(),
                store: self.clone(),
                _guard: guard,
            }) as Box<dyn LockedCredential>)
        }
        .boxed()
    }
}

struct LockedEntry {
    current: Option<Credential>,
    provider: String,
    store: InMemoryCredentialStore,
    _guard: OwnedMutexGuard<()>,
}

impl LockedCredential for LockedEntry {
    fn current(&self) -> Option<&Credential> {
        self.current.as_ref()
    }

    fn save(&mut self, credential: Option<Credential>) -> BoxFuture<'_, Result<(), AuthError>> {
        {
            let mut entries = self
                .store
                .entries
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            match credential.clone() {
                Some(credential) => entries.insert(self.provider.clone(), credential),
                None => entries.remove(&self.provider),
            };
        }
        self.current = credential;
        std::future::ready(Ok(())).boxed()
    }
}
