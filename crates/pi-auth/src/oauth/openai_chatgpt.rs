//! ChatGPT sign-in for the OpenAI API: a browser flow in which the service issues a client ID.
//!
//! The callback delivers the client ID together with the code. It belongs to this installation, which
//! the device ID identifies, and every later token request names it.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_env::Env;
use pi_protocol::LoginEvent;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::authorization_code::{PortConflict, Redirect, RedirectConfig, with_query};
use super::callback_server::{AuthorizationCode, CallbackRoute};
use super::http::{TokenRequest, TokenResponse};
use super::pkce::{Pkce, random_state};
use super::token::{TokenPolicy, jwt_claims};
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};
use crate::credentials::OAuthCredential;

/// Requests a client ID for this installation.
const UNREGISTERED_CLIENT: &str = "dynamic_agent_client";
const AGENT_NAME: &str = "Pi";
const DIRECT_USE_SCOPE: &str = "chatgpt.tokens.use.direct";
const SCOPE: &str = "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct";
const LOGIN_TIMEOUT: Duration = Duration::from_mins(15);
const TOKENS: TokenPolicy = TokenPolicy {
    skew: Duration::from_mins(3),
    default_lifetime: None,
};

/// Field of the stored credential: the issued client ID.
const CLIENT_ID: &str = "clientId";
/// Field of the stored credential: the granted scopes.
const SCOPES: &str = "scopes";

/// Signs in with a ChatGPT subscription.
#[derive(Debug, Clone)]
pub struct OpenAiChatGptOAuth {
    pub authorize_url: String,
    /// Endpoint that exchanges codes and refresh tokens.
    pub token_url: String,
    /// The API that the tokens are for.
    pub resource: String,
    /// Callback port; the service accepts only this one.
    pub callback_port: u16,
}

impl Default for OpenAiChatGptOAuth {
    fn default() -> Self {
        Self {
            authorize_url: "https://auth.openai.com/api/accounts/authorize".to_owned(),
            token_url: "https://auth.openai.com/api/accounts/oauth/token".to_owned(),
            resource: "https://api.openai.com/v1".to_owned(),
            callback_port: 1455,
        }
    }
}

impl OpenAiChatGptOAuth {
    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let device_id = context.device_id.as_deref().ok_or_else(|| {
            OAuthError::Internal("the ChatGPT sign-in requires a device ID".to_owned())
        })?;
        let pkce = Pkce::generate();
        let (state, nonce) = (random_state(), random_state());
        let config = RedirectConfig {
            host: Some("127.0.0.1"),
            port: self.callback_port,
            on_conflict: PortConflict::Fail,
            route: CallbackRoute {
                path: "/auth/callback".to_owned(),
                state: Some(state.clone()),
                extra: Some("client_id"),
            },
        };
        let redirect = Redirect::listen(config, &context.env).await?;
        let redirect_uri = redirect.uri.clone();
        let url = with_query(
            &self.authorize_url,
            &[
                ("client_id", UNREGISTERED_CLIENT),
                ("agent_name_hint", AGENT_NAME),
                ("ext_agent_host_id", &format!("urn:uuid:{device_id}")),
                ("response_type", "code"),
                ("redirect_uri", &redirect_uri),
                ("resource", &self.resource),
                ("scope", SCOPE),
                ("state", &state),
                ("code_challenge", &pkce.challenge),
                ("code_challenge_method", "S256"),
                ("nonce", &nonce),
            ],
        )?;
        let AuthorizationCode { code, extra, .. } = redirect
            .obtain_code(url, LOGIN_TIMEOUT, interaction, cancel)
            .await?;
        let client_id = extra.ok_or(OAuthError::MissingCode)?;
        interaction.notify(LoginEvent::progress("Exchanging code for tokens"));
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", client_id.as_str()),
            ("code", &code),
            ("code_verifier", &pkce.verifier),
            ("redirect_uri", &redirect_uri),
            ("resource", &self.resource),
        ];
        let response = TokenRequest::form("code exchange", &self.token_url, &fields)
            .send_cancellable(context, cancel)
            .await?
            .ok()?;
        check_nonce(&response, &nonce)?;
        credential(&response, None, client_id, &context.env)
    }

    async fn refresh_tokens(
        &self,
        stored: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let client_id = stored
            .extra
            .get(CLIENT_ID)
            .and_then(Value::as_str)
            .filter(|id| !id.trim().is_empty())
            .ok_or(OAuthError::NotRefreshable { field: CLIENT_ID })?;
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", client_id),
            ("refresh_token", stored.refresh.expose_secret()),
            ("resource", &self.resource),
        ];
        let response = TokenRequest::form("token refresh", &self.token_url, &fields)
            .send(context)
            .await?
            .ok()?;
        credential(&response, Some(stored), client_id.to_owned(), &context.env)
    }
}

/// The ID token belongs to this sign-in if it has the nonce that was sent.
fn check_nonce(response: &TokenResponse, nonce: &str) -> Result<(), OAuthError> {
    let claims = jwt_claims(response.require("id_token")?);
    let returned = claims.as_ref().and_then(|claims| claims.get("nonce"));
    match returned {
        Some(returned) if returned.as_str() != Some(nonce) => Err(OAuthError::StateMismatch),
        Some(_) | None => Ok(()),
    }
}

fn credential(
    response: &TokenResponse,
    previous: Option<&OAuthCredential>,
    client_id: String,
    env: &Env,
) -> Result<OAuthCredential, OAuthError> {
    let mut credential = TOKENS.credential(response, previous, env)?;
    let scopes = match (response.string("scope"), previous) {
        // A refresh that leaves the scopes unchanged may omit them.
        (None, Some(previous)) => previous.extra.get(SCOPES).cloned(),
        (Some(_), _) | (None, None) => {
            let scopes: Vec<&str> = response.require("scope")?.split_whitespace().collect();
            if !scopes.contains(&DIRECT_USE_SCOPE) {
                return Err(response.protocol(format!(
                    "does not grant {DIRECT_USE_SCOPE}; this account cannot be used outside of ChatGPT"
                )));
            }
            Some(json!(scopes))
        }
    };
    credential
        .extra
        .insert(CLIENT_ID.to_owned(), Value::String(client_id));
    if let Some(scopes) = scopes {
        credential.extra.insert(SCOPES.to_owned(), scopes);
    }
    Ok(credential)
}

impl OAuthFlow for OpenAiChatGptOAuth {
    fn name(&self) -> &'static str {
        "OpenAI (ChatGPT subscription)"
    }

    fn login_label(&self) -> Option<&str> {
        Some("Sign in with ChatGPT")
    }

    fn is_subscription(&self) -> bool {
        true
    }

    fn needs_device_id(&self) -> bool {
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
