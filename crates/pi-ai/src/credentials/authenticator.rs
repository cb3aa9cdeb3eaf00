//! Finds what a request authenticates with.
//!
//! The order: a key given for this run, the stored credential, the key of `models.json`, the
//! environment. A stored credential owns its provider: when it cannot be used, that is an error,
//! never a reason to look further.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use super::credential::{ApiKeyCredential, AuthKind, Credential, OAuthCredential};
use super::error::{AuthError, ValueTemplateError};
use super::provider_auth::{KeyAuth, ProviderAuth};
use super::refresh::Refresher;
use super::store::CredentialStore;
use super::value_template::{CommandCache, CommandReuse, ValueTemplate};
use crate::env::Env;
use crate::oauth::{LoginInteraction, OAuthContext, unless_cancelled};
use crate::options::{HeaderOverrides, set_header};
use crate::transport::HttpClient;

/// Resolves the authentication of requests from one store; cheap to clone.
#[derive(Clone)]
pub struct Authenticator {
    store: Arc<dyn CredentialStore>,
    commands: CommandCache,
    refresher: Arc<Refresher>,
}

/// What a caller lays over the configured authentication.
#[derive(Clone, Default)]
pub struct AuthOverrides {
    /// A key for this run; it is taken literally and wins over everything.
    pub api_key: Option<SecretString>,
    pub env: BTreeMap<String, String>,
    /// How long a token must still live; a renewed one that does not is an error.
    pub minimum_validity: Option<Duration>,
}

/// What one request authenticates with.
#[derive(Clone)]
pub struct ResolvedAuth {
    /// The key or token for the wire API to send; absent where headers or the cloud's own chain of
    /// credentials do it.
    pub api_key: Option<SecretString>,
    /// Headers to add; `None` deletes one.
    pub headers: HeaderOverrides,
    /// The service's address, where the credential decides it.
    pub base_url: Option<String>,
    /// Provider-scoped variables for the wire API.
    pub env: BTreeMap<String, String>,
    /// Where it came from.
    pub source: AuthSource,
    /// Whether it is a key or the token of a sign-in.
    pub kind: AuthKind,
}

/// Where an authentication came from; its text is for status lines and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthSource {
    /// Given for this run.
    Explicit,
    /// A key in the credential store.
    Stored,
    /// A sign-in in the credential store.
    OAuth,
    /// The `apiKey` of `models.json` or of an extension.
    Configured,
    Variable(String),
    /// Credentials the machine has for the cloud in question.
    Ambient(&'static str),
}

/// What is known about a provider's authentication without using it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthStatus {
    /// Whether it is a key or a sign-in.
    pub kind: AuthKind,
    /// Where it comes from.
    pub source: AuthSource,
}

impl Authenticator {
    /// Creates an authenticator over a store.
    pub fn new(store: Arc<dyn CredentialStore>, http: HttpClient) -> Self {
        Self {
            store,
            commands: CommandCache::default(),
            refresher: Arc::new(Refresher::new(http)),
        }
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn CredentialStore> {
        &self.store
    }

    /// Returns the keys that commands of value templates have printed in this process, for those who
    /// keep secrets out of a text.
    pub fn command_outputs(&self) -> Vec<SecretString> {
        self.commands.outputs()
    }

    /// Finds what a request to the provider authenticates with; `None` when nothing is configured.
    ///
    /// Renews a sign-in that is about to expire. May run the commands of value templates.
    pub async fn resolve(
        &self,
        provider: &ProviderAuth,
        env: &Env,
        overrides: &AuthOverrides,
    ) -> Result<Option<ResolvedAuth>, AuthError> {
        let env = with_variables(env, &overrides.env);
        if let Some(key) = &overrides.api_key {
            let key = Some((key.clone(), AuthSource::Explicit));
            let found = provider.find_key(key, &overrides.env, &env).await;
            return finish_key(provider, found, &env).await;
        }
        match self.store.read(&provider.provider).await? {
            Some(Credential::OAuth(stored)) => {
                self.resolve_oauth(provider, stored, &env, overrides).await
            }
            Some(Credential::ApiKey(stored)) if provider.takes_keys() => {
                self.resolve_stored_key(provider, stored, &env, overrides)
                    .await
            }
            Some(Credential::ApiKey(_)) => Err(unsupported(provider, AuthKind::ApiKey)),
            None => {
                let key = match &provider.configured.api_key {
                    Some(template) => Some((
                        configured_key(provider, template, &env).await?,
                        AuthSource::Configured,
                    )),
                    None => None,
                };
                let found = provider.find_key(key, &overrides.env, &env).await;
                finish_key(provider, found, &env).await
            }
        }
    }

    /// Resolves like [`Authenticator::resolve`], with nothing configured being an error that names
    /// the hint.
    pub async fn require(
        &self,
        provider: &ProviderAuth,
        env: &Env,
        overrides: &AuthOverrides,
    ) -> Result<ResolvedAuth, AuthError> {
        self.resolve(provider, env, overrides)
            .await?
            .ok_or_else(|| AuthError::Missing {
                provider: provider.provider.clone(),
                hint: provider.setup_hint(),
            })
    }

    /// Says whether the provider is configured, without side effects: nothing is renewed and no
    /// command is run.
    pub async fn check(
        &self,
        provider: &ProviderAuth,
        env: &Env,
    ) -> Result<Option<AuthStatus>, AuthError> {
        let stored = self.store.read(&provider.provider).await?;
        Ok(self.check_stored(provider, stored, env).await)
    }

    /// Says whether the provider is configured, given what is stored for it.
    pub(crate) async fn check_stored(
        &self,
        provider: &ProviderAuth,
        stored: Option<Credential>,
        env: &Env,
    ) -> Option<AuthStatus> {
        let key_status = |source| AuthStatus {
            kind: AuthKind::ApiKey,
            source,
        };
        let (variables, configured) = match stored {
            Some(Credential::OAuth(_)) => {
                return provider.oauth.as_ref().map(|_| AuthStatus {
                    kind: AuthKind::OAuth,
                    source: AuthSource::OAuth,
                });
            }
            Some(Credential::ApiKey(_)) if !provider.takes_keys() => return None,
            Some(Credential::ApiKey(stored)) => match stored.key {
                Some(key) => {
                    let template = ValueTemplate::from(key);
                    let env = with_variables(env, &stored.env);
                    if !template.is_configured(&env) {
                        return None;
                    }
                    (stored.env, Some(AuthSource::Stored))
                }
                None => (stored.env, None),
            },
            None => match &provider.configured.api_key {
                Some(template) if !template.is_configured(env) => return None,
                Some(_) => (BTreeMap::new(), Some(AuthSource::Configured)),
                None => (BTreeMap::new(), None),
            },
        };
        let env = with_variables(env, &variables);
        // What the key is does not matter here, so that its command need not run.
        let key = configured.map(|source| (SecretString::from("-"), source));
        let found = provider.find_key(key, &variables, &env).await;
        found.map(|found| key_status(found.source))
    }

    /// Signs in and stores the result.
    pub async fn sign_in(
        &self,
        provider: &ProviderAuth,
        kind: AuthKind,
        env: &Env,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<(), AuthError> {
        let no_sign_in = || AuthError::NoSignIn {
            provider: provider.provider.clone(),
        };
        let credential = match kind {
            AuthKind::OAuth => {
                let flow = provider.oauth.as_ref().ok_or_else(no_sign_in)?;
                let context = OAuthContext::new(self.refresher.http().clone(), env.clone());
                flow.login(&context, interaction, cancel)
                    .await
                    .map(Credential::OAuth)
            }
            AuthKind::ApiKey => {
                let api_key = provider.api_key.as_ref().ok_or_else(no_sign_in)?;
                unless_cancelled(cancel, api_key.prompt(interaction))
                    .await
                    .map(Credential::ApiKey)
            }
        };
        let credential = credential.map_err(|source| AuthError::SignIn {
            provider: provider.provider.clone(),
            source,
        })?;
        self.store.put(&provider.provider, credential).await
    }

    /// Waits until every renewal under way has stored its result.
    ///
    /// Call it before the process ends: a renewal outlives the request that started it, because a
    /// one-use refresh token that was sent must not be lost.
    pub async fn wait_for_refreshes(&self) {
        self.refresher.wait_for_refreshes().await;
    }

    async fn resolve_oauth(
        &self,
        provider: &ProviderAuth,
        stored: OAuthCredential,
        env: &Env,
        overrides: &AuthOverrides,
    ) -> Result<Option<ResolvedAuth>, AuthError> {
        let Some(flow) = &provider.oauth else {
            return Err(unsupported(provider, AuthKind::OAuth));
        };
        let credential = self
            .refresher
            .fresh(
                &self.store,
                flow,
                &provider.provider,
                stored,
                env,
                overrides.minimum_validity,
            )
            .await?;
        let Some(credential) = credential else {
            return Ok(None);
        };
        let auth = flow.request_auth(&credential);
        let found = ResolvedAuth {
            api_key: auth.api_key,
            headers: auth.headers,
            base_url: auth.base_url,
            env: overrides.env.clone(),
            source: AuthSource::OAuth,
            kind: AuthKind::OAuth,
        };
        with_configured(provider, found, env).await.map(Some)
    }

    async fn resolve_stored_key(
        &self,
        provider: &ProviderAuth,
        stored: ApiKeyCredential,
        env: &Env,
        overrides: &AuthOverrides,
    ) -> Result<Option<ResolvedAuth>, AuthError> {
        let mut variables = stored.env;
        variables.extend(overrides.env.clone());
        let env = with_variables(env, &variables);
        let key = match stored.key {
            Some(key) => {
                let key = ValueTemplate::from(key)
                    .resolve(&env, CommandReuse::Cached(&self.commands))
                    .await
                    .map_err(|reason| AuthError::Unresolved {
                        what: format!("{}.key in auth.json", provider.provider),
                        reason,
                    })?;
                Some((key, AuthSource::Stored))
            }
            None => None,
        };
        let found = provider.find_key(key, &variables, &env).await;
        let found = found.map(|mut found| {
            // A profile that is stored is found like one of the environment.
            if matches!(&found.source, AuthSource::Variable(name) if variables.contains_key(name)) {
                found.source = AuthSource::Stored;
            }
            found
        });
        finish_key(provider, found, &env).await
    }
}

/// Makes the authentication of a request out of a key that was found.
async fn finish_key(
    provider: &ProviderAuth,
    found: Option<KeyAuth>,
    env: &Env,
) -> Result<Option<ResolvedAuth>, AuthError> {
    let Some(found) = found else {
        return Ok(None);
    };
    let env = with_variables(env, &found.env);
    let auth = ResolvedAuth {
        api_key: found.api_key,
        headers: found.headers,
        base_url: None,
        env: found.env,
        source: found.source,
        kind: AuthKind::ApiKey,
    };
    with_configured(provider, auth, &env).await.map(Some)
}

async fn configured_key(
    provider: &ProviderAuth,
    template: &ValueTemplate,
    env: &Env,
) -> Result<SecretString, AuthError> {
    template
        .resolve(env, CommandReuse::Fresh)
        .await
        .map_err(|reason| AuthError::Unresolved {
            what: format!("providers.{}.apiKey in models.json", provider.provider),
            reason,
        })
}

/// Lays the configured headers over the found authentication.
async fn with_configured(
    provider: &ProviderAuth,
    mut auth: ResolvedAuth,
    env: &Env,
) -> Result<ResolvedAuth, AuthError> {
    for (name, template) in &provider.configured.headers {
        let value = template
            .resolve(env, CommandReuse::Fresh)
            .await
            .map_err(|reason| AuthError::Unresolved {
                what: format!(
                    "providers.{}.headers.{name} in models.json",
                    provider.provider
                ),
                reason,
            })?;
        let value = Some(value.expose_secret().to_owned());
        set_header(&mut auth.headers, name, value);
    }
    if provider.configured.auth_header {
        let key = auth.api_key.as_ref().ok_or_else(|| AuthError::Unresolved {
            what: format!(
                "providers.{}.authHeader in models.json, which needs a key",
                provider.provider
            ),
            reason: ValueTemplateError::Empty,
        })?;
        let bearer = format!("Bearer {}", key.expose_secret());
        set_header(&mut auth.headers, "authorization", Some(bearer));
    }
    Ok(auth)
}

fn unsupported(provider: &ProviderAuth, kind: AuthKind) -> AuthError {
    AuthError::Unsupported {
        provider: provider.provider.clone(),
        kind,
    }
}

/// Lays provider-scoped variables over an environment. An empty one leaves that of the process in force.
fn with_variables(env: &Env, variables: &BTreeMap<String, String>) -> Env {
    let set = variables
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()));
    env.with_overrides(&set.collect())
}

impl fmt::Display for AuthSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Explicit => "key given for this run",
            Self::Stored => "stored credential",
            Self::OAuth => "OAuth",
            Self::Configured => "configured API key",
            Self::Variable(name) => name,
            Self::Ambient(description) => description,
        })
    }
}

impl fmt::Debug for AuthOverrides {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AuthOverrides")
            .field("api_key", &self.api_key)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("minimum_validity", &self.minimum_validity)
            .finish()
    }
}

impl fmt::Debug for ResolvedAuth {
    // Header values carry tokens, and variables may.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResolvedAuth")
            .field("api_key", &self.api_key)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("base_url", &self.base_url)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("source", &self.source)
            .field("kind", &self.kind)
            .finish()
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Authenticator")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
