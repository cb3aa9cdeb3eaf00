//! Claude Pro/Max sign-in: browser flow in which the PKCE verifier doubles as the state.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::LoginEvent;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::authorization_code::{Redirect, RedirectConfig, with_query};
use super::callback_server::CallbackRoute;
use super::http::TokenRequest;
use super::pkce::Pkce;
use super::token::TokenPolicy;
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";
const SCOPES: &str = "org:create_api_key user:profile user:inference \
                      user:sessions:claude_code user:mcp_servers user:file_upload";
const LOGIN_TIMEOUT: Duration = Duration::from_mins(15);
const TOKENS: TokenPolicy = TokenPolicy {
    skew: Duration::from_mins(5),
    default_lifetime: None,
};

#[derive(Debug, Clone)]
pub struct AnthropicOAuth {
    pub authorize_url: String,
    /// Endpoint that exchanges codes and refresh tokens.
    pub token_url: String,
    /// Callback port; the service accepts only this one.
    pub callback_port: u16,
}

impl Default for AnthropicOAuth {
    fn default() -> Self {
        Self {
            authorize_url: "https://claude.ai/oauth/authorize".to_owned(),
            token_url: "https://platform.claude.com/v1/oauth/token".to_owned(),
            callback_port: 53692,
        }
    }
}

impl AnthropicOAuth {
    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let pkce = Pkce::generate();
        let redirect = Redirect::listen(
            RedirectConfig {
                host: Some("localhost"),
                port: self.callback_port,
                route: CallbackRoute {
                    path: "/callback".to_owned(),
                    // The token endpoint expects the state again and compares it with the verifier.
                    state: Some(pkce.verifier.clone()),
                },
            },
            &context.env,
        )
        .await;
        let redirect_uri = redirect.uri.clone();
        let url = with_query(
            &self.authorize_url,
            &[
                ("code", "true"),
                ("client_id", CLIENT_ID),
                ("response_type", "code"),
                ("redirect_uri", &redirect_uri),
                ("scope", SCOPES),
                ("code_challenge", &pkce.challenge),
                ("code_challenge_method", "S256"),
                ("state", &pkce.verifier),
            ],
        )?;
        let code = redirect
            .obtain_code(url, LOGIN_TIMEOUT, interaction, cancel)
            .await?;
        interaction.notify(LoginEvent::progress("Exchanging code for tokens"));
        let body = json!({
            "grant_type": "authorization_code",
            "client_id": CLIENT_ID,
            "code": code,
            "state": pkce.verifier,
            "redirect_uri": redirect_uri,
            "code_verifier": pkce.verifier,
        });
        let response = TokenRequest::json("code exchange", &self.token_url, &body)
            .send_cancellable(context, cancel)
            .await?
            .ok()?;
        TOKENS.credential(&response, None, &context.env)
    }

    async fn refresh_tokens(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let body = json!({
            "grant_type": "refresh_token",
            "client_id": CLIENT_ID,
            "refresh_token": credential.refresh.expose_secret(),
        });
        let response = TokenRequest::json("token refresh", &self.token_url, &body)
            .send(context)
            .await?
            .ok()?;
        TOKENS.credential(&response, Some(credential), &context.env)
    }
}

impl OAuthFlow for AnthropicOAuth {
    fn name(&self) -> &'static str {
        "Anthropic (Claude Pro/Max)"
    }

    fn is_subscription(&self) -> bool {
        true
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
        context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        self.refresh_tokens(credential, context).boxed()
    }
}
