//! API keys for one run (`--api-key`) that are never stored; they override a credential store.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::RwLock;
use pi_auth::{
    AllCredentials, AuthError, Credential, CredentialInfo, CredentialStore, LockedCredential,
};
use pi_protocol::AuthKind;
use secrecy::{ExposeSecret, SecretString};

/// API keys by provider. Clones share them.
#[derive(Clone, Default)]
pub struct RuntimeKeys(Arc<RwLock<BTreeMap<String, SecretString>>>);

impl std::fmt::Debug for RuntimeKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.providers()).finish()
    }
}

impl RuntimeKeys {
    pub fn set(&self, provider: &str, key: SecretString) {
        let mut keys = self.0.write();
        keys.insert(provider.to_owned(), key);
    }

    /// Wraps a store so that these keys take precedence.
    pub(crate) fn wrap(&self, store: Arc<dyn CredentialStore>) -> KeyedCredentials {
        KeyedCredentials {
            keys: self.clone(),
            store,
        }
    }

    fn forget(&self, provider: &str) {
        let mut keys = self.0.write();
        keys.remove(provider);
    }

    fn providers(&self) -> Vec<String> {
        let keys = self.0.read();
        keys.keys().cloned().collect()
    }

    /// Returns the key as a credential. Stored keys are templates; this one is literal.
    fn credential(&self, provider: &str) -> Option<Credential> {
        let keys = self.0.read();
        let key = keys.get(provider)?.expose_secret().replace('$', "$$");
        let key = match key.strip_prefix('!') {
            Some(rest) => format!("$!{rest}"),
            None => key,
        };
        Some(Credential::api_key(key))
    }
}

/// A credential store with runtime keys on top.
pub(crate) struct KeyedCredentials {
    keys: RuntimeKeys,
    store: Arc<dyn CredentialStore>,
}

impl CredentialStore for KeyedCredentials {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, AuthError>> {
        match self.keys.credential(provider) {
            Some(credential) => std::future::ready(Ok(Some(credential))).boxed(),
            None => self.store.read(provider),
        }
    }

    fn read_all(&self) -> BoxFuture<'_, Result<AllCredentials, AuthError>> {
        async move {
            let mut all = self.store.read_all().await?;
            for provider in self.keys.providers() {
                if let Some(credential) = self.keys.credential(&provider) {
                    all.insert(provider, Ok(credential));
                }
            }
            Ok(all)
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<CredentialInfo>, AuthError>> {
        async move {
            let mut list = self.store.list().await?;
            for provider in self.keys.providers() {
                list.retain(|info| info.provider != provider);
                list.push(CredentialInfo {
                    provider,
                    kind: AuthKind::ApiKey,
                });
            }
            Ok(list)
        }
        .boxed()
    }

    /// Locks the underlying store: a runtime key is never written.
    fn lock<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn LockedCredential>, AuthError>> {
        self.store.lock(provider)
    }

    fn delete<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        async move {
            self.store.delete(provider).await?;
            self.keys.forget(provider);
            Ok(())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use pi_auth::{AuthOverrides, Authenticator, InMemoryCredentialStore, KeySource, ProviderAuth};
    use pi_env::Env;
    use pi_http::HttpClient;
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn a_runtime_key_takes_precedence_and_is_literal() {
        let stored =
            InMemoryCredentialStore::new([("acme".to_owned(), Credential::api_key("stored"))]);
        let keys = RuntimeKeys::default();
        let store = Arc::new(keys.wrap(Arc::new(stored)));
        let authenticator = Authenticator::new(store, HttpClient::new());
        let auth = ProviderAuth::from_key_source("acme", "key", KeySource::Variables(&[]));
        let env = Env::fixed([("NAME", "value")]);
        let overrides = AuthOverrides::default();
        for key in ["plain", "$NAME", "!echo hi", "a$b", "${NAME}"] {
            keys.set("acme", key.into());
            let found = authenticator
                .resolve(&auth, &env, &overrides)
                .await
                .unwrap();
            let found = found.unwrap().api_key.unwrap();
            assert_eq!(found.expose_secret(), key);
        }
        let all = authenticator.store().read_all().await.unwrap();
        assert_eq!(all.len(), 1);
        authenticator.store().delete("acme").await.unwrap();
        assert_eq!(authenticator.store().list().await.unwrap(), []);
    }
}
