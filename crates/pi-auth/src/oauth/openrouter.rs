//! OpenRouter sign-in: browser flow that yields a permanent key, which the user can revoke on the
//! website.
//!
//! OpenRouter does not echo the state. Instead, the callback path is random, so only the page we
//! opened can call it.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::LoginEvent;
use pi_protocol::json::JsonObject;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::authorization_code::{PortConflict, Redirect, RedirectConfig, with_query};
use super::callback_server::CallbackRoute;
use super::http::TokenRequest;
use super::pkce::{Pkce, random_state};
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};
use crate::credentials::OAuthCredential;

const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);
/// The largest integer that JavaScript represents exactly; means "never".
const NEVER: i64 = 9_007_199_254_740_991;

#[derive(Debug, Clone)]
pub struct OpenRouterOAuth {
    pub authorize_url: String,
    /// Endpoint that exchanges the code for a key.
    pub key_url: String,
}

impl Default for OpenRouterOAuth {
    fn default() -> Self {
        Self {
            authorize_url: "https://openrouter.ai/auth".to_owned(),
            key_url: "https://openrouter.ai/api/v1/auth/keys".to_owned(),
        }
    }
}

impl OpenRouterOAuth {
    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let pkce = Pkce::generate();
        let redirect = Redirect::listen(
            RedirectConfig {
                host: None,
                port: 0,
                on_conflict: PortConflict::Paste,
                route: CallbackRoute {
                    path: format!("/oauth/callback/{}", random_state()),
                    state: None,
                    extra: None,
                },
            },
            &context.env,
        )
        .await?;
        let url = with_query(
            &self.authorize_url,
            &[
                ("callback_url", &redirect.uri),
                ("code_challenge", &pkce.challenge),
                ("code_challenge_method", "S256"),
            ],
        )?;
        let code = redirect
            .obtain_code(url, LOGIN_TIMEOUT, interaction, cancel)
            .await?;
        interaction.notify(LoginEvent::progress("Exchanging code for a key"));
        let body = json!({
            "code": code.code,
            "code_verifier": pkce.verifier,
            "code_challenge_method": "S256",
        });
        let response = TokenRequest::json("key exchange", &self.key_url, &body)
            .send_cancellable(context, cancel)
            .await?
            .ok()?;
        Ok(OAuthCredential {
            access: response.require("key")?.into(),
            refresh: String::new().into(),
            expires: NEVER,
            extra: JsonObject::new(),
        })
    }
}

impl OAuthFlow for OpenRouterOAuth {
    fn name(&self) -> &'static str {
        "OpenRouter OAuth"
    }

    fn login_label(&self) -> Option<&str> {
        Some("Sign in with OpenRouter")
    }

    fn rotates_refresh_token(&self) -> bool {
        false
    }

    fn login<'a>(
        &'a self,
        context: &'a OAuthContext,
        interaction: &'a dyn LoginInteraction,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        self.sign_in(context, interaction, cancel).boxed()
    }

    fn refresh<'a>(
        &'a self,
        credential: &'a OAuthCredential,
        _context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        // The key does not expire, so there is nothing to refresh.
        std::future::ready(Ok(credential.clone())).boxed()
    }
}
