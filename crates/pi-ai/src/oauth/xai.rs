//! The sign-in of SuperGrok and X Premium: a code on another device.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use super::device_code::{self, DeviceAuthorization, FirstPoll, poll};
use super::http::TokenRequest;
use super::token::TokenRules;
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "b1a00492-073a-47ea-816f-4c329264a828";
const SCOPE: &str = "openid profile email offline_access grok-cli:access api:access";
const TOKENS: TokenRules = TokenRules {
    skew: Duration::from_mins(5),
    default_lifetime: Some(Duration::from_hours(1)),
};

/// Signs in to xAI.
#[derive(Debug, Clone)]
pub struct XaiSignIn {
    /// Where a device code is asked for.
    pub device_code_url: String,
    /// Where codes and refresh tokens are exchanged.
    pub token_url: String,
}

impl Default for XaiSignIn {
    fn default() -> Self {
        Self {
            device_code_url: "https://auth.x.ai/oauth2/device/code".to_owned(),
            token_url: "https://auth.x.ai/oauth2/token".to_owned(),
        }
    }
}

impl XaiSignIn {
    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let fields = [
            ("client_id", CLIENT_ID),
            ("scope", SCOPE),
            ("referrer", "pi"),
        ];
        let answer = TokenRequest::form("the device code", &self.device_code_url, &fields)
            .send_unless(context, cancel)
            .await?
            .ok()?;
        let device = DeviceAuthorization::from_answer(&answer)?;
        interaction.notify(device.event());
        let fields = [
            ("grant_type", device_code::GRANT_TYPE),
            ("client_id", CLIENT_ID),
            ("device_code", &device.device_code),
        ];
        let granted = poll(device.pace(), FirstPoll::Delayed, cancel, || async {
            let answer = TokenRequest::form("the device sign-in", &self.token_url, &fields)
                .send(context)
                .await?;
            device_code::judge(answer)
        })
        .await?;
        TOKENS.credential(&granted, None, &context.env)
    }

    async fn renew(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT_ID),
            ("refresh_token", credential.refresh.expose_secret()),
        ];
        let answer = TokenRequest::form("the token renewal", &self.token_url, &fields)
            .send(context)
            .await?
            .ok()?;
        TOKENS.credential(&answer, Some(credential), &context.env)
    }
}

impl OAuthFlow for XaiSignIn {
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
        self.renew(credential, context).boxed()
    }
}
