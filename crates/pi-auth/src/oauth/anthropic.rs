//! Claude Pro/Max sign-in: browser flow in which the PKCE verifier doubles as the state. The code comes
//! from a callback on this machine, or the user copies it from a page of the service.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::{LoginEvent, LoginPrompt};
use secrecy::ExposeSecret;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::authorization_code::{PortConflict, Redirect, RedirectConfig, parse_pasted, with_query};
use super::callback_server::CallbackRoute;
use super::http::TokenRequest;
use super::pkce::Pkce;
use super::token::TokenPolicy;
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow, choose, unless_cancelled};
use crate::credentials::OAuthCredential;

const BROWSER: &str = "browser";
const COPY_CODE: &str = "copy_code";
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
    /// Page of the service that shows the code to copy.
    pub code_page_url: String,
    /// Preferred callback port; another one is used if it is taken.
    pub callback_port: u16,
}

impl Default for AnthropicOAuth {
    fn default() -> Self {
        Self {
            authorize_url: "https://claude.ai/oauth/authorize".to_owned(),
            token_url: "https://platform.claude.com/v1/oauth/token".to_owned(),
            code_page_url: "https://platform.claude.com/oauth/code/callback".to_owned(),
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
        let choices = [
            (BROWSER, "Browser on this machine (default)"),
            (COPY_CODE, "Copy a code from a browser on any machine"),
        ];
        let choice = choose(
            interaction,
            "How do you want to sign in to Claude?",
            choices,
        );
        let choice = unless_cancelled(cancel, choice).await?;
        let pkce = Pkce::generate();
        let (code, redirect_uri) = match choice {
            COPY_CODE => {
                let code = self.copied_code(&pkce, interaction, cancel).await?;
                (code, self.code_page_url.clone())
            }
            _ => {
                self.callback_code(&pkce, context, interaction, cancel)
                    .await?
            }
        };
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

    /// Returns the code that the browser delivers to this machine, and its redirect URI.
    async fn callback_code(
        &self,
        pkce: &Pkce,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<(String, String), OAuthError> {
        let config = RedirectConfig {
            host: Some("localhost"),
            port: self.callback_port,
            on_conflict: PortConflict::FreePort,
            route: route(pkce),
        };
        let redirect = Redirect::listen(config, &context.env).await?;
        let redirect_uri = redirect.uri.clone();
        let url = self.authorization_url(pkce, &redirect_uri)?;
        let code = redirect
            .obtain_code(url, LOGIN_TIMEOUT, interaction, cancel)
            .await?;
        Ok((code.code, redirect_uri))
    }

    /// Returns the code that the user copies from the page of the service.
    async fn copied_code(
        &self,
        pkce: &Pkce,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<String, OAuthError> {
        interaction.notify(LoginEvent::AuthUrl {
            url: self.authorization_url(pkce, &self.code_page_url)?,
            instructions:
                "Complete the sign-in in a browser, then paste the code that the page shows."
                    .to_owned(),
        });
        let prompt = interaction.prompt(LoginPrompt::ManualCode {
            message: "Paste the code here:".to_owned(),
            placeholder: Some("code#state".to_owned()),
        });
        let pasted = unless_cancelled(cancel, prompt).await?;
        Ok(parse_pasted(&pasted, &route(pkce))?.code)
    }

    fn authorization_url(&self, pkce: &Pkce, redirect_uri: &str) -> Result<String, OAuthError> {
        with_query(
            &self.authorize_url,
            &[
                ("code", "true"),
                ("client_id", CLIENT_ID),
                ("response_type", "code"),
                ("redirect_uri", redirect_uri),
                ("scope", SCOPES),
                ("code_challenge", &pkce.challenge),
                ("code_challenge_method", "S256"),
                ("state", &pkce.verifier),
            ],
        )
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

/// The token endpoint expects the state again and compares it with the verifier.
fn route(pkce: &Pkce) -> CallbackRoute {
    CallbackRoute {
        path: "/callback".to_owned(),
        state: Some(pkce.verifier.clone()),
        extra: None,
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
