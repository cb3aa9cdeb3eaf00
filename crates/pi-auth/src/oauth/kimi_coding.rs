//! Kimi Code sign-in: device-code flow; requests send the token as a bearer token.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_env::{Env, env_vars};
use pi_http::HeaderOverrides;
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use super::device_code::{DeviceFlow, FirstPoll};
use super::token::{TokenPolicy, send_refresh};
use super::{LoginInteraction, OAuthContext, OAuthError, OAuthFlow, OAuthRequestAuth};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "17e5f671-d194-4dfb-9706-5516cb48c098";
const REFRESH_ATTEMPTS: u32 = 4;
const TOKENS: TokenPolicy = TokenPolicy {
    skew: Duration::ZERO,
    default_lifetime: None,
};

#[derive(Debug, Clone)]
pub struct KimiCodingOAuth {
    /// Base URL of the auth service.
    pub auth_base_url: String,
}

impl Default for KimiCodingOAuth {
    fn default() -> Self {
        Self {
            auth_base_url: "https://auth.kimi.com".to_owned(),
        }
    }
}

impl KimiCodingOAuth {
    /// Uses the host from the environment, if set.
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
        let flow = DeviceFlow {
            device_url: format!("{}/api/oauth/device_authorization", self.auth_base_url),
            token_url: self.token_url(),
            client_id: CLIENT_ID,
            fields: &[],
            first: FirstPoll::Delayed,
        };
        let tokens = flow.sign_in(context, interaction, cancel).await?;
        TOKENS.credential(&tokens, None, &context.env)
    }

    /// Refreshes the token, retrying while the service is busy.
    async fn refresh_tokens(
        &self,
        credential: &OAuthCredential,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let mut attempt = 1;
        let response = loop {
            match send_refresh(&self.token_url(), CLIENT_ID, credential, context).await {
                Ok(response) => break response,
                Err(error) if !error.is_network() || attempt == REFRESH_ATTEMPTS => {
                    return Err(error);
                }
                Err(_busy) => {
                    tokio::time::sleep(Duration::from_secs(1 << (attempt - 1))).await;
                    attempt += 1;
                }
            }
        };
        TOKENS.credential(&response, Some(credential), &context.env)
    }
}

impl OAuthFlow for KimiCodingOAuth {
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
        self.refresh_tokens(credential, context).boxed()
    }

    fn request_auth(&self, credential: &OAuthCredential) -> OAuthRequestAuth {
        let bearer = format!("Bearer {}", credential.access.expose_secret());
        OAuthRequestAuth {
            headers: HeaderOverrides::from([("authorization".to_owned(), Some(bearer))]),
            ..OAuthRequestAuth::default()
        }
    }
}
