//! SuperGrok and X Premium sign-in: device-code flow.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;

use super::device_code::{DeviceFlow, FirstPoll};
use super::token::{TokenPolicy, send_refresh};
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "b1a00492-073a-47ea-816f-4c329264a828";
const SCOPE: &str = "openid profile email offline_access grok-cli:access api:access";
const TOKENS: TokenPolicy = TokenPolicy {
    skew: Duration::from_mins(5),
    default_lifetime: Some(Duration::from_hours(1)),
};

#[derive(Debug, Clone)]
pub struct XaiOAuth {
    /// Device authorization endpoint.
    pub device_code_url: String,
    /// Token endpoint.
    pub token_url: String,
}

impl Default for XaiOAuth {
    fn default() -> Self {
        Self {
            device_code_url: "https://auth.x.ai/oauth2/device/code".to_owned(),
            token_url: "https://auth.x.ai/oauth2/token".to_owned(),
        }
    }
}

impl XaiOAuth {
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
            fields: &[("scope", SCOPE), ("referrer", "pi")],
            first: FirstPoll::Delayed,
        };
        let tokens = flow.sign_in(context, interaction, cancel).await?;
        TOKENS.credential(&tokens, None, &context.env)
    }

    async fn refresh_tokens(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let response = send_refresh(&self.token_url, CLIENT_ID, credential, context).await?;
        TOKENS.credential(&response, Some(credential), &context.env)
    }
}

impl OAuthFlow for XaiOAuth {
    fn name(&self) -> &'static str {
        "xAI (Grok/X subscription)"
    }

    fn login_label(&self) -> Option<&str> {
        Some("Sign in with SuperGrok or X Premium")
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
