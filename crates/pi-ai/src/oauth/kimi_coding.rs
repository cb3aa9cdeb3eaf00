//! The sign-in of Kimi Code: a code on another device, a token sent as a bearer.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use super::device_code::{self, DeviceAuthorization, FirstPoll, poll};
use super::http::{TokenAnswer, TokenRequest};
use super::token::TokenRules;
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow, OAuthRequestAuth};
use crate::credentials::OAuthCredential;
use crate::env::Env;
use crate::env_vars;
use crate::options::HeaderOverrides;

const CLIENT_ID: &str = "17e5f671-d194-4dfb-9706-5516cb48c098";
const RENEWAL_ATTEMPTS: u32 = 4;
const TOKENS: TokenRules = TokenRules {
    skew: Duration::ZERO,
    default_lifetime: None,
};

/// Signs in to Kimi Code.
#[derive(Debug, Clone)]
pub struct KimiCodingSignIn {
    /// The service; all addresses are below it.
    pub auth_base_url: String,
}

impl Default for KimiCodingSignIn {
    fn default() -> Self {
        Self {
            auth_base_url: "https://auth.kimi.com".to_owned(),
        }
    }
}

impl KimiCodingSignIn {
    /// Creates the sign-in at the host the environment names.
    pub fn from_env(env: &Env) -> Self {
        env.var(env_vars::KIMI_CODE_OAUTH_HOST)
            .or_else(|| env.var(env_vars::KIMI_OAUTH_HOST))
            .map_or_else(Self::default, |host| Self {
                auth_base_url: host.trim_end_matches('/').to_owned(),
            })
    }

    fn token_url(&self) -> String {
        format!("{}/api/oauth/token", self.auth_base_url)
    }

    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let url = format!("{}/api/oauth/device_authorization", self.auth_base_url);
        let answer = TokenRequest::form("the device code", url, &[("client_id", CLIENT_ID)])
            .send_unless(context, cancel)
            .await?
            .ok()?;
        let device = DeviceAuthorization::from_answer(&answer)?;
        interaction.notify(device.event());
        let fields = [
            ("client_id", CLIENT_ID),
            ("device_code", device.device_code.as_str()),
            ("grant_type", device_code::GRANT_TYPE),
        ];
        let granted = poll(device.pace(), FirstPoll::Delayed, cancel, || async {
            let answer = TokenRequest::form("the device sign-in", self.token_url(), &fields)
                .send(context)
                .await?;
            device_code::judge(answer)
        })
        .await?;
        TOKENS.credential(&granted, None, &context.env)
    }

    /// Renews, asking again while the service is busy.
    async fn renew(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let mut attempt = 1;
        let answer = loop {
            match self.try_renewal(credential, context).await {
                Ok(answer) => break answer,
                Err(error) if !error.is_network() || attempt == RENEWAL_ATTEMPTS => {
                    return Err(error);
                }
                Err(_busy) => {
                    tokio::time::sleep(Duration::from_secs(1 << (attempt - 1))).await;
                    attempt += 1;
                }
            }
        };
        TOKENS.credential(&answer, Some(credential), &context.env)
    }

    async fn try_renewal(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<TokenAnswer, OAuthError> {
        let fields = [
            ("client_id", CLIENT_ID),
            ("grant_type", "refresh_token"),
            ("refresh_token", credential.refresh.expose_secret()),
        ];
        TokenRequest::form("the token renewal", self.token_url(), &fields)
            .send(context)
            .await?
            .ok()
    }
}

impl OAuthFlow for KimiCodingSignIn {
    fn name(&self) -> &'static str {
        "Kimi Code (subscription)"
    }

    fn login_label(&self) -> Option<&str> {
        Some("Sign in with Kimi Code")
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

    fn request_auth(&self, credential: &OAuthCredential) -> OAuthRequestAuth {
        let bearer = format!("Bearer {}", credential.access.expose_secret());
        OAuthRequestAuth {
            headers: HeaderOverrides::from([("authorization".to_owned(), Some(bearer))]),
            ..OAuthRequestAuth::default()
        }
    }
}
