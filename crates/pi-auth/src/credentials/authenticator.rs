//! Resolves the authentication of a request.
//!
//! Sources, in order: a key given for this run, the stored credential, the key in `models.json`,
//! the environment. A stored credential is authoritative for its provider: if it cannot be used,
//! that is an error, and the later sources are not tried.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_env::Env;
use pi_http::{HeaderOverrides, HttpClient, set_header};
use pi_protocol::{AuthKind, AuthSource, AuthStatus};
use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use super::credential::{ApiKeyCredential, Credential, OAuthCredential};
use super::error::{AuthError, ValueTemplateError};
use super::provider_auth::{KeyAuth, ProviderAuth};
use super::refresh::Refresher;
use super::store::CredentialStore;
use super::value_template::{CommandCache, CommandReuse, ValueTemplate};
use crate::oauth::{LoginInteraction, OAuthContext, unless_cancelled};

/// Resolves authentication for requests from one store. Cheap to clone.
#[derive(Clone)]
pub struct Authenticator {
    store: Arc<dyn CredentialStore>,
    commands: CommandCache,
    refresher: Arc<Refresher>,
}

/// A sign-in to run.
#[derive(Debug, Clone, Copy)]
pub struct SignInRequest<'a> {
    pub provider: &'a ProviderAuth,
    pub kind: AuthKind,
    pub env: &'a Env,
    /// UUID of this installation, if the flow [needs](crate::OAuthFlow::needs_device_id) it.
    pub device_id: Option<&'a str>,
}

/// Per-call overrides of the configured authentication.
#[derive(Clone, Default)]
pub struct AuthOverrides {
    /// Key for this run; taken literally, overrides all other sources.
    pub api_key: Option<SecretString>,
    pub env: BTreeMap<String, String>,
    /// How long a token must remain valid. It is an error if a refreshed token expires sooner.
    pub minimum_validity: Option<Duration>,
}

/// Authentication for one request.
#[derive(Clone)]
pub struct ResolvedAuth {
    /// Key or token for the wire API to send; `None` if headers or the cloud's own credential chain
    /// authenticate the request.
    pub api_key: Option<SecretString>,
    /// Headers to add; `None` deletes a header.
    pub headers: HeaderOverrides,
    /// Base URL, if the credential determines it.
    pub base_url: Option<String>,
    /// Provider-scoped variables for the wire API.
    pub env: BTreeMap<String, String>,
    pub source: AuthSource,
    pub kind: AuthKind,
}

impl Authenticator {
    pub fn new(store: Arc<dyn CredentialStore>, http: HttpClient) -> Self {
        Self {
            store,
            commands: CommandCache::default(),
            refresher: Arc::new(Refresher::new(http)),
        }
    }

    pub fn store(&self) -> &Arc<dyn CredentialStore> {
        &self.store
    }

    /// Returns secrets of this process that the store may not contain, so callers can redact them:
    /// the keys that value-template commands have printed, and tokens that were used, also if they
    /// were refreshed since.
    pub fn used_secrets(&self) -> Vec<SecretString> {
        let mut secrets = self.commands.outputs();
        secrets.extend(self.refresher.used_tokens());
        secrets
    }

    /// Resolves the authentication for a request to the provider; `None` if nothing is configured.
    ///
    /// Refreshes an OAuth token that is about to expire. May run value-template commands.
    pub fn resolve<'a>(
        &'a self,
        provider: &'a ProviderAuth,
        env: &'a Env,
        overrides: &'a AuthOverrides,
    ) -> BoxFuture<'a, Result<Option<ResolvedAuth>, AuthError>> {
        Box::pin(async move {
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
                Some(Credential::ApiKey(stored)) if provider.accepts_keys() => {
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
        })
    }

    /// Like [`Authenticator::resolve`], but returns an error with a setup hint if nothing is
    /// configured.
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

    /// Returns whether and how the provider is configured, without side effects: refreshes no token
    /// and runs no command.
    pub async fn check(
        &self,
        provider: &ProviderAuth,
        env: &Env,
    ) -> Result<Option<AuthStatus>, AuthError> {
        let stored = self.store.read(&provider.provider).await?;
        Ok(self.check_stored(provider, stored, env).await)
    }

    /// Like [`Authenticator::check`], with the stored credential given.
    pub async fn check_stored(
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
            Some(Credential::ApiKey(_)) if !provider.accepts_keys() => return None,
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
        // The key's value does not matter here, so its command is not run.
        let key = configured.map(|source| (SecretString::from("-"), source));
        let found = provider.find_key(key, &variables, &env).await;
        found.map(|found| key_status(found.source))
    }

    /// Runs a sign-in and stores its credential.
    pub async fn sign_in(
        &self,
        request: SignInRequest<'_>,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<(), AuthError> {
        let provider = request.provider;
        let no_sign_in = || AuthError::NoSignIn {
            provider: provider.provider.clone(),
        };
        let credential = match request.kind {
            AuthKind::OAuth => {
                let flow = provider.oauth.as_ref().ok_or_else(no_sign_in)?;
                let mut context =
                    OAuthContext::new(self.refresher.http().clone(), request.env.clone());
                context.device_id = request.device_id.map(str::to_owned);
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

    /// Waits until all token refreshes in progress have stored their results.
    ///
    /// Call this before the process exits: a refresh outlives the request that started it, because
    /// a one-time refresh token that was already sent must not be lost.
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
            .ensure_fresh(
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
            // A stored profile is resolved like one from the environment.
            if matches!(&found.source, AuthSource::Variable(name) if variables.contains_key(name)) {
                found.source = AuthSource::Stored;
            }
            found
        });
        finish_key(provider, found, &env).await
    }
}

/// Builds a request's authentication from the resolved key.
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

/// Adds the configured headers to the resolved authentication.
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
                "providers.{}.authHeader in models.json, which requires a key",
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

/// Applies provider-scoped variables to an environment. Empty values do not override the process
/// environment.
fn with_variables(env: &Env, variables: &BTreeMap<String, String>) -> Env {
    let set = variables
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()));
    env.with_overrides(&set.collect())
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
    // Headers contain tokens, and environment variables may as well.
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
