//! The sign-in of ChatGPT: a browser, or a code on another device.
//!
//! The device flow is OpenAI's own: it yields an authorization code and its proof key, which are
//! then exchanged like those of the browser. The account's id is a claim of the access token.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::authorization_code::{Redirect, RedirectAddress, with_query};
use super::callback_server::CallbackRoute;
use super::device_code::{FirstPoll, Pace, PollAnswer, poll};
use super::http::{TokenAnswer, TokenRequest};
use super::pkce::{Pkce, random_state};
use super::token::TokenRules;
use super::{
    LoginChoice, LoginEvent, LoginInteraction, LoginPrompt, OAuthContext, OAuthError, OAuthFlow,
};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
const SCOPE: &str = "openid profile email offline_access";
const ACCOUNT_CLAIMS: &str = "https://api.openai.com/auth";
const LOGIN_LIMIT: Duration = Duration::from_mins(15);
const DEVICE_LIFETIME_SECONDS: f64 = 15.0 * 60.0;
const TOKENS: TokenRules = TokenRules {
    skew: Duration::ZERO,
    default_lifetime: None,
};

/// Signs in to ChatGPT Plus or Pro.
#[derive(Debug, Clone)]
pub struct OpenAiCodexSignIn {
    /// The service; all addresses are below it.
    pub auth_base_url: String,
    /// The port the browser is sent back to; the service knows only this one.
    pub callback_port: u16,
}

impl Default for OpenAiCodexSignIn {
    fn default() -> Self {
        Self {
            auth_base_url: "https://auth.openai.com".to_owned(),
            callback_port: 1455,
        }
    }
}

impl OpenAiCodexSignIn {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.auth_base_url)
    }

    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let prompt = interaction.prompt(LoginPrompt::Select {
            message: "How do you want to sign in to ChatGPT?".to_owned(),
            choices: vec![
                LoginChoice {
                    id: "browser",
                    label: "In a browser on this machine (default)".to_owned(),
                },
                LoginChoice {
                    id: "device_code",
                    label: "With a code on another device".to_owned(),
                },
            ],
        });
        let method = cancel
            .run_until_cancelled(prompt)
            .await
            .ok_or(OAuthError::Cancelled)??;
        match method.as_str() {
            "browser" => self.sign_in_by_browser(context, interaction, cancel).await,
            "device_code" => self.sign_in_by_device(context, interaction, cancel).await,
            other => Err(OAuthError::InvalidInput(format!(
                "there is no way to sign in called {other}"
            ))),
        }
    }

    async fn sign_in_by_browser(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let pkce = Pkce::generate();
        let state = random_state();
        let redirect = Redirect::listen(
            RedirectAddress {
                host: Some("localhost"),
                port: self.callback_port,
                route: CallbackRoute {
                    path: "/auth/callback".to_owned(),
                    state: Some(state.clone()),
                },
            },
            &context.env,
        )
        .await;
        let redirect_uri = redirect.uri.clone();
        let url = with_query(
            &self.url("/oauth/authorize"),
            &[
                ("response_type", "code"),
                ("client_id", CLIENT_ID),
                ("redirect_uri", &redirect_uri),
                ("scope", SCOPE),
                ("code_challenge", &pkce.challenge),
                ("code_challenge_method", "S256"),
                ("state", &state),
                ("id_token_add_organizations", "true"),
                ("codex_cli_simplified_flow", "true"),
                ("originator", "pi"),
            ],
        )?;
        let code = redirect
            .obtain_code(url, LOGIN_LIMIT, interaction, cancel)
            .await?;
        interaction.notify(LoginEvent::progress("Exchanging the code for tokens"));
        self.exchange(&code, &pkce.verifier, &redirect_uri, context, cancel)
            .await
    }

    async fn sign_in_by_device(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let url = self.url("/api/accounts/deviceauth/usercode");
        let body = json!({ "client_id": CLIENT_ID });
        let device = TokenRequest::json("the device code", url, &body)
            .send_unless(context, cancel)
            .await?
            .ok()?;
        let user_code = device.require("user_code")?;
        let interval = device.number("interval");
        interaction.notify(LoginEvent::DeviceCode {
            user_code: user_code.to_owned(),
            verification_uri: self.url("/codex/device"),
            interval_seconds: interval,
            expires_in_seconds: Some(DEVICE_LIFETIME_SECONDS),
        });
        let question = json!({
            "device_auth_id": device.require("device_auth_id")?,
            "user_code": user_code,
        });
        let pace = Pace::new(interval, Some(DEVICE_LIFETIME_SECONDS), Instant::now());
        let granted = poll(pace, FirstPoll::Immediate, cancel, || async {
            let url = self.url("/api/accounts/deviceauth/token");
            let answer = TokenRequest::json("the device sign-in", url, &question)
                .send(context)
                .await?;
            judge_device(answer)
        })
        .await?;
        let redirect_uri = self.url("/deviceauth/callback");
        let (code, verifier) = (
            granted.require("authorization_code")?,
            granted.require("code_verifier")?,
        );
        self.exchange(code, verifier, &redirect_uri, context, cancel)
            .await
    }

    async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
        context: &OAuthContext,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT_ID),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect_uri),
        ];
        let answer = TokenRequest::form("the code exchange", self.url("/oauth/token"), &fields)
            .send_unless(context, cancel)
            .await?
            .ok()?;
        with_account(TOKENS.credential(&answer, None, &context.env)?, &answer)
    }

    async fn renew(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", credential.refresh.expose_secret()),
            ("client_id", CLIENT_ID),
        ];
        let answer = TokenRequest::form("the token renewal", self.url("/oauth/token"), &fields)
            .send(context)
            .await?
            .ok()?;
        let renewed = TOKENS.credential(&answer, Some(credential), &context.env)?;
        // The account does not change with a renewal; a token in another format must not be lost.
        match with_account(renewed.clone(), &answer) {
            Err(_) if renewed.extra.contains_key("accountId") => Ok(renewed),
            other => other,
        }
    }
}

/// Reads the device endpoint's own way of saying "not yet".
fn judge_device(answer: TokenAnswer) -> Result<PollAnswer<TokenAnswer>, OAuthError> {
    if answer.is_success() {
        return answer.ok().map(PollAnswer::Complete);
    }
    match answer.error_code() {
        Some("slow_down") => Ok(PollAnswer::SlowDown {
            interval_seconds: answer.number("interval"),
        }),
        Some("deviceauth_authorization_pending") => Ok(PollAnswer::Pending),
        _ if matches!(answer.status, 403 | 404) => Ok(PollAnswer::Pending),
        _ => Err(answer.failure()),
    }
}

fn with_account(
    mut credential: OAuthCredential,
    answer: &TokenAnswer,
) -> Result<OAuthCredential, OAuthError> {
    let account = account_id(credential.access.expose_secret())
        .ok_or_else(|| answer.protocol("has an access token that names no account"))?;
    credential
        .extra
        .insert("accountId".to_owned(), Value::String(account));
    Ok(credential)
}

/// Reads the account from the claims of an access token. The token is not verified: it is the
/// service's to trust or not.
fn account_id(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let claims = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let account = claims.get(ACCOUNT_CLAIMS)?.get("chatgpt_account_id")?;
    account
        .as_str()
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
}

impl OAuthFlow for OpenAiCodexSignIn {
    fn name(&self) -> &'static str {
        "OpenAI (ChatGPT Plus/Pro)"
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
        self.renew(credential, context).boxed()
    }
}
