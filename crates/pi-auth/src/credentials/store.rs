//! Credential storage: one credential per provider, read freely, changed only under a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::RwLock;
use pi_protocol::AuthKind;
use tokio::sync::OwnedMutexGuard;

use super::credential::Credential;
use super::error::AuthError;

/// Metadata of a stored credential, available without reading its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialInfo {
    pub provider: String,
    pub kind: AuthKind,
}

/// Credentials by provider. Malformed entries are errors.
pub type AllCredentials = BTreeMap<String, Result<Credential, AuthError>>;

/// Stores one credential per provider.
pub trait CredentialStore: Send + Sync {
    /// Returns the stored credential unchanged: possibly expired, with unresolved templates.
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, AuthError>>;

    /// Reads all credentials at once, each as by [`CredentialStore::read`].
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

    /// Lists the stored credentials. Exposes no secret and runs no command.
    fn list(&self) -> BoxFuture<'_, Result<Vec<CredentialInfo>, AuthError>>;

    /// Acquires the lock, waiting for holders in this and other processes, and reads the credential
    /// under it. Dropping the guard releases the lock.
    fn lock<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn LockedCredential>, AuthError>>;

    /// Stores a credential, replacing any existing one.
    fn put<'a>(
        &'a self,
        provider: &'a str,
        credential: Credential,
    ) -> BoxFuture<'a, Result<(), AuthError>> {
        async move { self.lock(provider).await?.save(Some(credential)).await }.boxed()
    }

    fn delete<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        async move { self.lock(provider).await?.save(None).await }.boxed()
    }
}

/// Exclusive access to a provider's credential while the guard lives.
pub trait LockedCredential: Send {
    /// Returns the credential as read under the lock or as last saved.
    fn current(&self) -> Option<&Credential>;

    /// Stores the credential, or removes it if `None`. The change is durable when this returns.
    ///
    /// May be called several times under one lock. Fails with [`AuthError::Conflict`] if the lock
    /// was lost and the entry no longer matches what this guard last saw.
    fn save(&mut self, credential: Option<Credential>) -> BoxFuture<'_, Result<(), AuthError>>;
}

/// Credentials kept in memory for the lifetime of the process.
#[derive(Default, Clone)]
pub struct InMemoryCredentialStore {
    entries: Arc<RwLock<BTreeMap<String, Credential>>>,
    writer: Arc<tokio::sync::Mutex<()>>,
}

impl InMemoryCredentialStore {
    pub fn new(entries: impl IntoIterator<Item = (String, Credential)>) -> Self {
        Self {
            entries: Arc::new(RwLock::new(entries.into_iter().collect())),
            writer: Arc::default(),
        }
    }

    fn get(&self, provider: &str) -> Option<Credential> {
        let entries = self.entries.read();
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
        let entries = self.entries.read();
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
            let mut entries = self.store.entries.write();
            match credential.clone() {
                Some(credential) => entries.insert(self.provider.clone(), credential),
                None => entries.remove(&self.provider),
            };
        }
        self.current = credential;
        std::future::ready(Ok(())).boxed()
    }
}
