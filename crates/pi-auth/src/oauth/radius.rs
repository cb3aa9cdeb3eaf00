//! Radius gateway sign-in: browser flow, with an authorization page that the gateway specifies, or
//! device-code flow.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_env::{Env, env_vars};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::browser_flow::BrowserFlow;
use super::device_code::{DeviceFlow, FirstPoll};
use super::http::{TokenRequest, TokenResponse};
use super::token::{TokenPolicy, send_refresh};
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow, choose, unless_cancelled};
use crate::credentials::OAuthCredential;

const BROWSER: &str = "browser";
const DEVICE_CODE: &str = "device-code";
const CLIENT_ID: &str = "pi-gateway";
const SCOPE: &str = "gateway offline_access";
const LOGIN_TIMEOUT: Duration = Duration::from_mins(15);
const TOKENS: TokenPolicy = TokenPolicy {
    skew: Duration::from_mins(1),
    default_lifetime: None,
};

#[derive(Debug, Clone)]
pub struct RadiusOAuth {
    name: String,
    gateway: String,
    /// Callback port; gateways accept only this one.
    pub callback_port: u16,
}

impl RadiusOAuth {
    /// The gateway that everyone can use.
    pub const PUBLIC_GATEWAY: &str = "https://radius.pi.dev";

    /// Creates the flow for a gateway, given as a URL or host, with or without `/v1`.
    pub fn new(name: impl Into<String>, gateway: &str) -> Self {
        Self {
            name: name.into(),
            gateway: normalize_gateway(gateway),
            callback_port: 1456,
        }
    }

    /// Uses the gateway from the environment, or the public one.
    pub fn from_env(env: &Env) -> Self {
        let gateway = env.var(env_vars::RADIUS_GATEWAY);
        Self::new("Radius", gateway.as_deref().unwrap_or(Self::PUBLIC_GATEWAY))
    }

    /// Returns the gateway's URL, without `/v1` or a trailing slash.
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    fn url(&self, path: &str) -> String {
        Url::parse(&self.gateway)
            .and_then(|gateway| gateway.join(path))
            .map_or_else(|_| format!("{}{path}", self.gateway), String::from)
    }

    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let choices = [
            (BROWSER, "Browser on this machine (recommended)"),
            (DEVICE_CODE, "Code on another device"),
        ];
        let question = format!("How do you want to sign in to {}?", self.name);
        let choice = choose(interaction, question, choices);
        let response = match unless_cancelled(cancel, choice).await? {
            DEVICE_CODE => {
                let flow = DeviceFlow {
                    device_url: self.url("/v1/oauth/device"),
                    token_url: self.url("/v1/oauth/token"),
                    client_id: CLIENT_ID,
                    fields: &[("scope", SCOPE)],
                    first: FirstPoll::Immediate,
                };
                flow.sign_in(context, interaction, cancel).await?
            }
            _ => self.browser_sign_in(context, interaction, cancel).await?,
        };
        credential(&response, None, context)
    }

    async fn browser_sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenResponse, OAuthError> {
        let discovery = TokenRequest::get("gateway configuration request", self.url("/v1/oauth"))
            .send_cancellable(context, cancel)
            .await?
            .ok()?;
        let flow = BrowserFlow {
            authorize_url: discovery.require("authorizationEndpoint")?.to_owned(),
            token_url: self.url("/v1/oauth/token"),
            client_id: CLIENT_ID,
            scope: SCOPE,
            parameters: &[("handoff", "url")],
            callback: ("127.0.0.1", self.callback_port, "/oauth/callback"),
            limit: LOGIN_TIMEOUT,
        };
        flow.sign_in(context, interaction, cancel).await
    }

    async fn refresh_tokens(
        &self,
        previous: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let url = self.url("/v1/oauth/token");
        let response = send_refresh(&url, CLIENT_ID, previous, context).await?;
        credential(&response, Some(previous), context)
    }
}

fn credential(
    response: &TokenResponse,
    previous: Option<&OAuthCredential>,
    context: &OAuthContext,
) -> Result<OAuthCredential, OAuthError> {
    let mut credential = TOKENS.credential(response, previous, &context.env)?;
    if let Some(scope) = response.string("scope") {
        credential
            .extra
            .insert("scope".to_owned(), Value::from(scope));
    }
    Ok(credential)
}

fn normalize_gateway(gateway: &str) -> String {
    let gateway = gateway.trim_end_matches('/');
    let gateway = gateway.strip_suffix("/v1").unwrap_or(gateway);
    let gateway = gateway.trim_end_matches('/');
    let lower = gateway.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        gateway.to_owned()
    } else {
        format!("https://{gateway}")
    }
}

impl OAuthFlow for RadiusOAuth {
    fn name(&self) -> &str {
        &self.name
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
