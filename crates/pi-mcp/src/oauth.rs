//! OAuth for HTTP servers: sends the stored token, refreshes it, and signs in when the user asks for it.
//!
//! Many servers replace refresh tokens, so a refresh token must be used once: requests of this process share a refresh, and a
//! lock keeps other processes out from reading the token to storing the new one.

mod discovery;
mod endpoint;
mod flow;
mod provider_auth;
mod redirect;
mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_auth::{CommandCache, CommandReuse, ValueTemplate};
use pi_config::{McpAuthEntry, McpAuthFileError};
use pi_env::Env;
use pi_protocol::json::JsonObject;
use pi_protocol::{McpOAuthSpec, McpServerSpec, McpTransport};
use secrecy::SecretString;
use serde_json::Value;
use thiserror::Error;
use url::Url;

use crate::auth::{AuthChallenge, McpAuth, RejectedToken};
use crate::connector::McpConnector;
use crate::error::McpError;
use endpoint::OAuthHttp;
use flow::{FlowOutcome, FlowRequest};

pub(crate) use provider_auth::ProviderAuth;
pub use sign_in::{SignInError, SignInPrompt};

/// A token that expires this soon is refreshed before it is sent.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// The redirect of a refresh, which redirects to nothing.
const UNUSED_REDIRECT: &str = "http://127.0.0.1/callback";

/// The sign-in of a server. Clones share it.
#[derive(Clone)]
pub struct OAuthSession(Arc<OAuthState>);

struct OAuthState {
    /// The URL of the server.
    server: Url,
    spec: McpOAuthSpec,
    entry: McpAuthEntry,
    http: OAuthHttp,
    env: Env,
    commands: CommandCache,
    /// What the server asked for when it last rejected a request.
    challenge: Mutex<Option<AuthChallenge>>,
    /// Held by the refresh in progress.
    refreshing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum OAuthFailure {
    /// An error response of the authorization server.
    #[error("{message}")]
    Rejected { code: String, message: String },
    /// The server asks for credentials over an unencrypted connection.
    #[error("{0} is not an https URL, so no credentials are sent there")]
    Insecure(String),
    #[error("{0}")]
    Other(String),
}

impl From<McpAuthFileError> for OAuthFailure {
    fn from(error: McpAuthFileError) -> Self {
        Self::Other(error.to_string())
    }
}

impl OAuthSession {
    pub(crate) fn new(connector: &McpConnector, spec: &McpServerSpec) -> Option<Self> {
        let McpTransport::Http(endpoint) = &spec.transport else {
            return None;
        };
        if !spec.uses_oauth() {
            return None;
        }
        let server = Url::parse(&endpoint.url).ok()?;
        let file = connector.agent_dir.mcp_auth_file();
        Some(Self(Arc::new(OAuthState {
            entry: McpAuthEntry::new(&file, &spec.name, server.as_str()),
            server,
            spec: endpoint.oauth.clone(),
            http: OAuthHttp::new(connector.http.clone(), connector.env.clone()),
            env: connector.env.clone(),
            commands: connector.commands.clone(),
            challenge: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
        })))
    }

    /// Returns the stored tokens, to notice a sign-in of another process.
    pub(crate) fn stored_tokens(&self) -> Option<String> {
        self.0.entry.tokens().map(|tokens| tokens.to_string())
    }

    /// Removes the stored credentials; returns whether there were any.
    pub async fn remove(&self) -> Result<bool, McpError> {
        let removed = self.0.entry.change(|state| state.take().is_some()).await;
        removed.map_err(|error| McpError::Setup(error.to_string()))
    }
}

impl OAuthState {
    /// Returns the stored state of this server.
    async fn load(&self) -> Result<JsonObject, OAuthFailure> {
        Ok(self.own(self.entry.load().await?))
    }

    /// Returns the state if it belongs to the URL of the server.
    fn own(&self, state: Option<JsonObject>) -> JsonObject {
        let server = Value::from(self.server.as_str());
        let state = state.filter(|state| state.get("serverUrl") == Some(&server));
        state.unwrap_or_else(|| {
            let mut state = JsonObject::new();
            state.insert("serverUrl".to_owned(), server);
            state
        })
    }

    async fn update(
        self: &Arc<Self>,
        change: impl FnOnce(&mut JsonObject) + Send + 'static,
    ) -> Result<(), OAuthFailure> {
        let this = Arc::clone(self);
        let changed = self.entry.change(move |known| {
            let mut state = this.own(known.take());
            change(&mut state);
            *known = Some(state);
        });
        Ok(changed.await?)
    }

    /// Returns the secret of a registered client.
    async fn client_secret(&self) -> Result<Option<SecretString>, OAuthFailure> {
        let Some(secret) = &self.spec.client_secret else {
            return Ok(None);
        };
        let template = ValueTemplate::from(secret.as_str());
        let reuse = CommandReuse::Cached(&self.commands);
        let resolved = template.resolve(&self.env, reuse).await;
        resolved.map(Some).map_err(|error| {
            OAuthFailure::Other(format!("cannot resolve oauth.clientSecret: {error}"))
        })
    }

    /// Replaces a token that has expired or was rejected. Returns whether there is another one.
    async fn refresh(self: &Arc<Self>, old: Option<&str>) -> Result<RejectedToken, OAuthFailure> {
        let _turn = self.refreshing.lock().await;
        let _lock = self.entry.lock_refresh().await?;
        let state = self.load().await?;
        let tokens = Tokens::of(&state);
        if tokens.access.as_deref() != old {
            // Another process has replaced it, or the user has signed in.
            return Ok(RejectedToken::Replaced);
        }
        if tokens.refresh.is_none() {
            return Ok(RejectedToken::SignInNeeded);
        }
        let challenge = self.challenge();
        let registered = flow::registered_redirects(&state).into_iter().next();
        let redirect = redirect::RedirectSettings::new(&self.spec)
            .and_then(|settings| settings.fixed)
            .or(registered);
        let request = FlowRequest {
            resource_metadata: challenge
                .as_ref()
                .and_then(|it| it.resource_metadata.clone()),
            scope: challenge.and_then(|challenge| challenge.scope),
            redirect: redirect.unwrap_or_else(|| UNUSED_REDIRECT.to_owned()),
            may_refresh: true,
            code: None,
            state: None,
        };
        match self.authorize(&request).await? {
            FlowOutcome::Authorized => Ok(RejectedToken::Replaced),
            FlowOutcome::SignInNeeded | FlowOutcome::Redirect(_) => Ok(RejectedToken::SignInNeeded),
        }
    }

    /// Refreshes in a task: a refresh token that was sent is used up, so the response must be stored.
    async fn refresh_to_end(
        self: &Arc<Self>,
        old: Option<String>,
    ) -> Result<RejectedToken, OAuthFailure> {
        let this = Arc::clone(self);
        let task = tokio::spawn(async move { this.refresh(old.as_deref()).await });
        let crashed = || OAuthFailure::Other("the refresh failed unexpectedly".to_owned());
        task.await.unwrap_or_else(|_panic| Err(crashed()))
    }

    fn challenge(&self) -> Option<AuthChallenge> {
        let challenge = self.challenge.lock();
        challenge.clone()
    }
}

/// The stored tokens.
#[derive(Default)]
struct Tokens {
    access: Option<String>,
    refresh: Option<String>,
    scope: Option<String>,
    /// In milliseconds since 1970.
    expires_at: Option<f64>,
}

impl Tokens {
    fn of(state: &JsonObject) -> Self {
        let tokens = state.get("tokens");
        let text = |key: &str| {
            let value = tokens.and_then(|tokens| tokens.get(key));
            value.and_then(Value::as_str).map(str::to_owned)
        };
        Self {
            access: text("access_token"),
            refresh: text("refresh_token"),
            scope: text("scope"),
            expires_at: state.get("tokensExpireAt").and_then(Value::as_f64),
        }
    }

    fn expires_soon(&self, now_ms: i64) -> bool {
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds since 1970 are exact"
        )]
        let limit = now_ms as f64 + EXPIRY_MARGIN.as_secs_f64() * 1_000.0;
        self.expires_at.is_some_and(|expires| expires <= limit)
    }
}

impl McpAuth for OAuthSession {
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, McpError>> {
        async {
            let state = &self.0;
            // A refresh in progress replaces the token.
            drop(state.refreshing.lock().await);
            let setup = |error: OAuthFailure| McpError::Setup(error.to_string());
            let mut tokens = Tokens::of(&state.load().await.map_err(setup)?);
            if tokens.expires_soon(state.env.now_ms()) && tokens.refresh.is_some() {
                // If this fails, the server decides about the old token.
                if let Err(error) = state.refresh_to_end(tokens.access.clone()).await {
                    tracing::debug!(%error, "cannot refresh the token of an MCP server");
                }
                tokens = Tokens::of(&state.load().await.map_err(setup)?);
            }
            Ok(tokens.access.map(SecretString::from))
        }
        .boxed()
    }

    fn rejected(
        &self,
        challenge: AuthChallenge,
        token: Option<SecretString>,
    ) -> BoxFuture<'_, Result<RejectedToken, McpError>> {
        async move {
            let state = &self.0;
            let needs_scope = challenge.is_insufficient_scope;
            *state.challenge.lock() = Some(challenge);
            if needs_scope {
                // A refresh keeps the scope.
                return Ok(RejectedToken::SignInNeeded);
            }
            let old = token.map(|token| secrecy::ExposeSecret::expose_secret(&token).to_owned());
            match state.refresh_to_end(old).await {
                Ok(outcome) => Ok(outcome),
                Err(error) => {
                    tracing::debug!(%error, "cannot refresh the token of an MCP server");
                    Ok(RejectedToken::SignInNeeded)
                }
            }
        }
        .boxed()
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        async { drop(self.0.refreshing.lock().await) }.boxed()
    }

    fn challenge(&self) -> Option<AuthChallenge> {
        self.0.challenge()
    }
}
