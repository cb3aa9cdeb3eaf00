//! ChatGPT sign-in for the Codex API: browser or device-code flow.
//!
//! The device flow is specific to OpenAI: it yields an authorization code and its PKCE verifier,
//! which are exchanged as in the browser flow. The account ID is a claim of the access token.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::{DeviceCodeActions, LoginEvent};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::browser_flow::{BrowserFlow, CodeExchange};
use super::device_code::{FirstPoll, PollSchedule, PollStatus, poll};
use super::http::{TokenRequest, TokenResponse};
use super::token::{TokenPolicy, jwt_claims, send_refresh};
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow, choose, unless_cancelled};
use crate::credentials::OAuthCredential;

const BROWSER: &str = "browser";
const DEVICE_CODE: &str = "device_code";
const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
const SCOPE: &str = "openid profile email offline_access";
const ACCOUNT_CLAIMS: &str = "https://api.openai.com/auth";
const LOGIN_TIMEOUT: Duration = Duration::from_mins(15);
const DEVICE_LIFETIME_SECONDS: f64 = 15.0 * 60.0;
const TOKENS: TokenPolicy = TokenPolicy {
    skew: Duration::ZERO,
    default_lifetime: None,
};

/// Signs in to ChatGPT Plus or Pro.
#[derive(Debug, Clone)]
pub struct OpenAiCodexOAuth {
    /// Base URL of the auth service.
    pub auth_base_url: String,
    /// Callback port; the service accepts only this one.
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
        let choices = [
            (BROWSER, "Browser on this machine (default)"),
            (DEVICE_CODE, "Code on another device"),
        ];
        let choice = choose(
            interaction,
            "How do you want to sign in to ChatGPT?",
            choices,
        );
        let response = match unless_cancelled(cancel, choice).await? {
            DEVICE_CODE => self.device_sign_in(context, interaction, cancel).await?,
            _ => {
                self.browser_flow()
                    .sign_in(context, interaction, cancel)
                    .await?
            }
        };
        with_account(TOKENS.credential(&response, None, &context.env)?, &response)
    }

    fn browser_flow(&self) -> BrowserFlow<'static> {
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
            limit: LOGIN_TIMEOUT,
        }
    }

    async fn device_sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenResponse, OAuthError> {
        let url = self.url("/api/accounts/deviceauth/usercode");
        let body = json!({ "client_id": CLIENT_ID });
        let device = TokenRequest::json("device code request", url, &body)
            .send_cancellable(context, cancel)
            .await?
            .ok()?;
        let user_code = device.require("user_code")?;
        let interval = device.number("interval");
        interaction.notify(LoginEvent::DeviceCode {
            user_code: user_code.to_owned(),
            verification_uri: self.url("/codex/device"),
            interval_seconds: interval,
            expires_in_seconds: Some(DEVICE_LIFETIME_SECONDS),
            on_confirm: DeviceCodeActions::default(),
        });
        let query = json!({
            "device_auth_id": device.require("device_auth_id")?,
            "user_code": user_code,
        });
        let schedule = PollSchedule::new(interval, Some(DEVICE_LIFETIME_SECONDS), Instant::now());
        let tokens = poll(schedule, FirstPoll::Immediate, cancel, || async {
            let url = self.url("/api/accounts/deviceauth/token");
            let response = TokenRequest::json("device sign-in", url, &query)
                .send(context)
                .await?;
            parse_device_status(response)
        })
        .await?;
        let exchange = CodeExchange {
            token_url: &self.url("/oauth/token"),
            client_id: CLIENT_ID,
            code: tokens.require("authorization_code")?,
            verifier: tokens.require("code_verifier")?,
            redirect_uri: &self.url("/deviceauth/callback"),
        };
        exchange.send(context, cancel).await
    }

    async fn refresh_tokens(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let url = self.url("/oauth/token");
        let response = send_refresh(&url, CLIENT_ID, credential, context).await?;
        let refreshed = TOKENS.credential(&response, Some(credential), &context.env)?;
        // The account does not change with a refresh; keep it if a token in another format lacks
        // it.
        match with_account(refreshed.clone(), &response) {
            Err(_) if refreshed.extra.contains_key("accountId") => Ok(refreshed),
            other => other,
        }
    }
}

/// Parses the device endpoint's nonstandard poll response.
fn parse_device_status(response: TokenResponse) -> Result<PollStatus<TokenResponse>, OAuthError> {
    if response.is_success() {
        return response.ok().map(PollStatus::Complete);
    }
    match response.error_code() {
        Some("slow_down") => Ok(PollStatus::SlowDown {
            interval_seconds: response.number("interval"),
        }),
        Some("deviceauth_authorization_pending") => Ok(PollStatus::Pending),
        _ if matches!(response.status, 403 | 404) => Ok(PollStatus::Pending),
        _ => Err(response.error_from_status()),
    }
}

fn with_account(
    mut credential: OAuthCredential,
    response: &TokenResponse,
) -> Result<OAuthCredential, OAuthError> {
    let account = codex_account(credential.access.expose_secret())
        .ok_or_else(|| response.protocol("has an access token without an account ID"))?;
    credential
        .extra
        .insert("accountId".to_owned(), Value::String(account));
    Ok(credential)
}

/// Reads the account from the claims of an access token. The token is not verified; that is up to
/// the service.
pub fn codex_account(token: &str) -> Option<String> {
    let claims = jwt_claims(token)?;
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
        self.refresh_tokens(credential, context).boxed()
    }
}
