//! The sign-in of ChatGPT: a browser, or a code on another device.
//!
//! The device flow is OpenAI's own: it yields an authorization code and its proof key, which are
//! then exchanged like those of the browser. The account's id is a claim of the access token.

use std::time::Duration;

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet, engine::DecodePaddingMode};
use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::browser_flow::{BrowserFlow, CodeExchange};
use super::device_code::{FirstPoll, Pace, PollAnswer, poll};
use super::http::{TokenAnswer, TokenRequest};
use super::token::{TokenRules, renewed};
use super::{
    LoginEvent, LoginInteraction, OAuthContext, OAuthError, OAuthFlow, choose, unless_cancelled,
};
use crate::credentials::OAuthCredential;

const BROWSER: &str = "browser";
const DEVICE_CODE: &str = "device_code";
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
pub struct OpenAiCodexOAuth {
    /// The service; all addresses are below it.
    pub auth_base_url: String,
    /// The port the browser is sent back to; the service knows only this one.
    pub callback_port: u16,
}

impl Default for OpenAiCodexOAuth {
    fn default() -> Self {
        Self {
            auth_base_url: "https://auth.openai.com".to_owned(),
            callback_port: 1455,
        }
    }
}

impl OpenAiCodexOAuth {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.auth_base_url)
    }

    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let ways = [
            (BROWSER, "In a browser on this machine (default)"),
            (DEVICE_CODE, "With a code on another device"),
        ];
        let way = choose(interaction, "How do you want to sign in to ChatGPT?", ways);
        let answer = match unless_cancelled(cancel, way).await? {
            DEVICE_CODE => self.sign_in_by_device(context, interaction, cancel).await?,
            _ => {
                self.by_browser()
                    .sign_in(context, interaction, cancel)
                    .await?
            }
        };
        with_account(TOKENS.credential(&answer, None, &context.env)?, &answer)
    }

    fn by_browser(&self) -> BrowserFlow<'static> {
        BrowserFlow {
            authorize_url: self.url("/oauth/authorize"),
            token_url: self.url("/oauth/token"),
            client_id: CLIENT_ID,
            scope: SCOPE,
            parameters: &[
                ("id_token_add_organizations", "true"),
                ("codex_cli_simplified_flow", "true"),
                ("originator", "pi"),
            ],
            callback: ("localhost", self.callback_port, "/auth/callback"),
            limit: LOGIN_LIMIT,
        }
    }

    async fn sign_in_by_device(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenAnswer, OAuthError> {
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
        let exchange = CodeExchange {
            token_url: &self.url("/oauth/token"),
            client_id: CLIENT_ID,
            code: granted.require("authorization_code")?,
            verifier: granted.require("code_verifier")?,
            redirect_uri: &self.url("/deviceauth/callback"),
        };
        exchange.send(context, cancel).await
    }

    async fn renew(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let url = self.url("/oauth/token");
        let answer = renewed(&url, CLIENT_ID, credential, context).await?;
        let next = TOKENS.credential(&answer, Some(credential), &context.env)?;
        // The account does not change with a renewal; a token in another format must not be lost.
        match with_account(next.clone(), &answer) {
            Err(_) if next.extra.contains_key("accountId") => Ok(next),
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
    let account = codex_account(credential.access.expose_secret())
        .ok_or_else(|| answer.protocol("has an access token that names no account"))?;
    credential
        .extra
        .insert("accountId".to_owned(), Value::String(account));
    Ok(credential)
}

/// Reads the account from the claims of an access token. The token is not verified: it is the
/// service's to trust or not.
pub(crate) fn codex_account(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let (_header, claims, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let lenient = GeneralPurpose::new(
        &alphabet::URL_SAFE,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    // Tokens are written in the URL-safe alphabet; some tools re-encode them in the plain one.
    let claims = claims.replace('+', "-").replace('/', "_");
    let claims: Value = serde_json::from_slice(&lenient.decode(claims).ok()?).ok()?;
    let account = claims.get(ACCOUNT_CLAIMS)?.get("chatgpt_account_id")?;
    account
        .as_str()
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
}

impl OAuthFlow for OpenAiCodexOAuth {
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
