//! OAuth sign-in flows and the interface through which they interact with the user.
//!
//! A flow ([`OAuthFlow`]) talks to the provider and reaches the user through [`LoginInteraction`],
//! so the TUI, the command line and tests drive the same code. Storing and refreshing tokens is in
//! [`crate::credentials`].

mod anthropic;
mod anthropic_federation;
mod authorization_code;
mod browser_flow;
mod callback_server;
mod device_code;
mod error;
mod github_copilot;
mod http;
mod interaction;
mod kimi_coding;
mod meta;
mod openai_chatgpt;
mod openai_codex;
mod openrouter;
mod pkce;
mod radius;
mod token;
mod xai;

use std::fmt;
use std::future::Future;

use futures_util::future::{BoxFuture, FutureExt};
use pi_env::Env;
use pi_http::{HeaderOverrides, HttpClient};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

pub use anthropic::AnthropicOAuth;
pub use anthropic_federation::AnthropicFederation;
pub(crate) use anthropic_federation::federation_variables;
pub use callback_server::{AuthorizationCode, CallbackRoute, CallbackServer};
pub use error::OAuthError;
pub use github_copilot::GithubCopilotOAuth;
pub use interaction::LoginInteraction;
pub(crate) use interaction::choose;
pub use kimi_coding::KimiCodingOAuth;
pub use meta::MetaOAuth;
pub use openai_chatgpt::OpenAiChatGptOAuth;
pub use openai_codex::{OpenAiCodexOAuth, codex_account};
pub use openrouter::OpenRouterOAuth;
pub use pkce::Pkce;
pub use radius::RadiusOAuth;
pub use xai::XaiOAuth;

use crate::credentials::OAuthCredential;

/// A provider's OAuth flow.
pub trait OAuthFlow: Send + Sync {
    /// Returns the display name, such as `Anthropic (Claude Pro/Max)`.
    fn name(&self) -> &str;

    /// Returns the label of this flow in the login menu.
    fn login_label(&self) -> Option<&str> {
        None
    }

    /// Returns whether the user pays by subscription rather than per token.
    fn is_subscription(&self) -> bool {
        false
    }

    /// Returns whether a refresh token is valid for one use only. Assume so when in doubt.
    fn rotates_refresh_token(&self) -> bool {
        true
    }

    /// Returns whether [`OAuthContext::device_id`] must be set to sign in.
    fn needs_device_id(&self) -> bool {
        false
    }

    /// Signs in. The caller stores the result.
    fn login<'a>(
        &'a self,
        context: &'a OAuthContext,
        interaction: &'a dyn LoginInteraction,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>>;

    /// Exchanges the refresh token. The caller holds the store's lock and stores the result before
    /// doing anything else.
    fn refresh<'a>(
        &'a self,
        credential: &'a OAuthCredential,
        context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>>;

    /// Looks up account details after a refresh has been stored and returns the credential with
    /// them. `None` leaves the credential unchanged.
    fn enrich<'a>(
        &'a self,
        credential: &'a OAuthCredential,
        context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<Option<OAuthCredential>, OAuthError>> {
        let _ = (credential, context);
        std::future::ready(Ok(None)).boxed()
    }

    /// Returns how requests carry the credential.
    fn request_auth(&self, credential: &OAuthCredential) -> OAuthRequestAuth {
        OAuthRequestAuth {
            api_key: Some(credential.access.clone()),
            ..OAuthRequestAuth::default()
        }
    }
}

/// Runs a step of a sign-in unless the user cancels it first.
pub(crate) async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    step: impl Future<Output = Result<T, OAuthError>>,
) -> Result<T, OAuthError> {
    cancel
        .run_until_cancelled(step)
        .await
        .unwrap_or(Err(OAuthError::Cancelled))
}

/// How requests carry an OAuth token.
#[derive(Clone, Default)]
pub struct OAuthRequestAuth {
    /// Key for the wire API to send.
    pub api_key: Option<SecretString>,
    /// Headers to send instead.
    pub headers: HeaderOverrides,
    /// Base URL, if the token determines it.
    pub base_url: Option<String>,
}

/// HTTP client and environment for an OAuth flow.
#[derive(Clone, Debug)]
pub struct OAuthContext {
    pub http: HttpClient,
    pub env: Env,
    /// UUID of this installation, if the flow [needs](OAuthFlow::needs_device_id) it.
    pub device_id: Option<String>,
}

impl OAuthContext {
    pub fn new(http: HttpClient, env: Env) -> Self {
        Self {
            http,
            env,
            device_id: None,
        }
    }
}

impl fmt::Debug for OAuthRequestAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthRequestAuth")
            .field("api_key", &self.api_key)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("base_url", &self.base_url)
            .finish()
    }
}
