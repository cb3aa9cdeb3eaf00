//! Meta Muse subscription sign-in: device-code flow, then a minted key.
//!
//! The identity token cannot be used for inference and cannot be refreshed. It is stored as the
//! refresh token and mints a key that is valid for a day and stored as the access token. If minting
//! is rejected, only a new sign-in helps.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::LoginEvent;
use pi_protocol::json::JsonObject;
use secrecy::SecretString;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::authorization_code::parse_web_url;
use super::device_code::{DeviceFlow, FirstPoll};
use super::http::TokenRequest;
use super::token::milliseconds;
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow, unless_cancelled};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "1031625952748946";
const KEY_LIFETIME: Duration = Duration::from_hours(24);

#[derive(Debug, Clone)]
pub struct MetaOAuth {
    /// Device authorization endpoint.
    pub device_code_url: String,
    /// Endpoint that exchanges the code for an identity token.
    pub token_url: String,
    /// Endpoint that mints a key with the identity token.
    pub key_url: String,
}

impl Default for MetaOAuth {
    fn default() -> Self {
        Self {
            device_code_url: "https://auth.meta.com/oidc/device/authorization/".to_owned(),
            token_url: "https://auth.meta.com/oidc/device/token/".to_owned(),
            key_url: "https://api.meta.ai/muse-code/key".to_owned(),
        }
    }
}

impl MetaOAuth {
    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let flow = DeviceFlow {
            device_url: self.device_code_url.clone(),
            token_url: self.token_url.clone(),
            client_id: CLIENT_ID,
            fields: &[],
            first: FirstPoll::Delayed,
        };
        let tokens = flow.sign_in(context, interaction, cancel).await?;
        interaction.notify(LoginEvent::progress("Requesting API key"));
        let identity = tokens.require("access_token")?.into();
        unless_cancelled(cancel, self.mint(identity, JsonObject::new(), context)).await
    }

    async fn mint(
        &self,
        identity: SecretString,
        extra: JsonObject,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let response = TokenRequest::json("key request", &self.key_url, &json!({}))
            .bearer(&identity)
            .header("x-api-version", "1.0.0")
            .send(context)
            .await?
            .ok()?;
        let Some(key) = response.string("api_key") else {
            // A new account has to complete its setup first.
            return Err(
                match response.string("action_url").and_then(parse_web_url) {
                    Some(url) => response
                        .protocol(format!("has no key; complete the account setup at {url}")),
                    None => response.protocol("has no key"),
                },
            );
        };
        Ok(OAuthCredential {
            access: key.into(),
            refresh: identity,
            expires: context
                .env
                .now_ms()
                .saturating_add(milliseconds(KEY_LIFETIME)),
            extra,
        })
    }
}

impl OAuthFlow for MetaOAuth {
    fn name(&self) -> &'static str {
        "Meta (Muse subscription)"
    }

    fn login_label(&self) -> Option<&str> {
        Some("Sign in with Meta")
    }

    fn is_subscription(&self) -> bool {
        true
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
        context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        self.mint(
            credential.refresh.clone(),
            credential.extra.clone(),
            context,
        )
        .boxed()
    }
}
