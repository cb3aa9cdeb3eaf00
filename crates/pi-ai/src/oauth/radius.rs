//! The sign-in of a Radius gateway: a browser, whose page the gateway names, or a code on another
//! device.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::authorization_code::{Redirect, RedirectAddress, with_query};
use super::callback_server::CallbackRoute;
use super::device_code::{self, DeviceAuthorization, FirstPoll, poll};
use super::http::{TokenAnswer, TokenRequest};
use super::pkce::{Pkce, random_state};
use super::token::TokenRules;
use super::{
    LoginChoice, LoginEvent, LoginInteraction, LoginPrompt, OAuthContext, OAuthError, OAuthFlow,
};
use crate::credentials::OAuthCredential;
use crate::env::Env;
use crate::env_vars;

const DEFAULT_GATEWAY: &str = "https://radius.pi.dev";
const CLIENT_ID: &str = "pi-gateway";
const SCOPE: &str = "gateway offline_access";
const LOGIN_LIMIT: Duration = Duration::from_mins(15);
const TOKENS: TokenRules = TokenRules {
    skew: Duration::from_mins(1),
    default_lifetime: None,
};

/// Signs in to a Radius gateway.
#[derive(Debug, Clone)]
pub struct RadiusSignIn {
    name: String,
    gateway: String,
    /// The port the browser is sent back to; gateways know only this one.
    pub callback_port: u16,
}

impl RadiusSignIn {
    /// Creates the sign-in of a gateway, given by address or by host.
    pub fn new(name: impl Into<String>, gateway: &str) -> Self {
        Self {
            name: name.into(),
            gateway: normalize_gateway(gateway),
            callback_port: 1456,
        }
    }

    /// Creates the sign-in of the gateway the environment names, or of the public one.
    pub fn from_env(env: &Env) -> Self {
        let gateway = env.var(env_vars::RADIUS_GATEWAY);
        Self::new("Radius", gateway.as_deref().unwrap_or(DEFAULT_GATEWAY))
    }

    /// Returns the gateway's address, without a slash at its end.
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
        let prompt = interaction.prompt(LoginPrompt::Select {
            message: format!("How do you want to sign in to {}?", self.name),
            choices: vec![
                LoginChoice {
                    id: "browser",
                    label: "In a browser on this machine (recommended)".to_owned(),
                },
                LoginChoice {
                    id: "device-code",
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
            "device-code" => self.sign_in_by_device(context, interaction, cancel).await,
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
        let discovery = TokenRequest::get("the gateway's configuration", self.url("/v1/oauth"))
            .send_unless(context, cancel)
            .await?
            .ok()?;
        let pkce = Pkce::generate();
        let state = random_state();
        let redirect = Redirect::listen(
            RedirectAddress {
                host: Some("127.0.0.1"),
                port: self.callback_port,
                route: CallbackRoute {
                    path: "/oauth/callback".to_owned(),
                    state: Some(state.clone()),
                },
            },
            &context.env,
        )
        .await;
        let redirect_uri = redirect.uri.clone();
        let url = with_query(
            discovery.require("authorizationEndpoint")?,
            &[
                ("response_type", "code"),
                ("client_id", CLIENT_ID),
                ("redirect_uri", &redirect_uri),
                ("scope", SCOPE),
                ("code_challenge", &pkce.challenge),
                ("code_challenge_method", "S256"),
                ("handoff", "url"),
                ("state", &state),
            ],
        )?;
        let code = redirect
            .obtain_code(url, LOGIN_LIMIT, interaction, cancel)
            .await?;
        interaction.notify(LoginEvent::progress("Exchanging the code for tokens"));
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT_ID),
            ("redirect_uri", &redirect_uri),
            ("code", &code),
            ("code_verifier", &pkce.verifier),
        ];
        let answer = TokenRequest::form("the code exchange", self.url("/v1/oauth/token"), &fields)
            .send_unless(context, cancel)
            .await?
            .ok()?;
        credential(&answer, None, context)
    }

    async fn sign_in_by_device(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let fields = [("client_id", CLIENT_ID), ("scope", SCOPE)];
        let answer = TokenRequest::form("the device code", self.url("/v1/oauth/device"), &fields)
            .send_unless(context, cancel)
            .await?
            .ok()?;
        let device = DeviceAuthorization::from_answer(&answer)?;
        interaction.notify(device.event());
        let fields = [
            ("grant_type", device_code::GRANT_TYPE),
            ("client_id", CLIENT_ID),
            ("device_code", device.device_code.as_str()),
        ];
        let granted = poll(device.pace(), FirstPoll::Immediate, cancel, || async {
            let url = self.url("/v1/oauth/token");
            let answer = TokenRequest::form("the device sign-in", url, &fields)
                .send(context)
                .await?;
            device_code::judge(answer)
        })
        .await?;
        credential(&granted, None, context)
    }

    async fn renew(
        &self,
        previous: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT_ID),
            ("refresh_token", previous.refresh.expose_secret()),
        ];
        let answer = TokenRequest::form("the token renewal", self.url("/v1/oauth/token"), &fields)
            .send(context)
            .await?
            .ok()?;
        credential(&answer, Some(previous), context)
    }
}

fn credential(
    answer: &TokenAnswer,
    previous: Option<&OAuthCredential>,
    context: &OAuthContext,
) -> Result<OAuthCredential, OAuthError> {
    let mut credential = TOKENS.credential(answer, previous, &context.env)?;
    if let Some(scope) = answer.string("scope") {
        credential
            .extra
            .insert("scope".to_owned(), Value::from(scope));
    }
    Ok(credential)
}

fn normalize_gateway(gateway: &str) -> String {
    let gateway = gateway.trim_end_matches('/');
    let lower = gateway.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        gateway.to_owned()
    } else {
        format!("https://{gateway}")
    }
}

impl OAuthFlow for RadiusSignIn {
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
        self.renew(credential, context).boxed()
    }
}
