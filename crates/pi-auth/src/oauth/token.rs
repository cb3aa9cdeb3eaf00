//! Converts token endpoint responses into credentials.

use std::time::Duration;

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use pi_env::Env;
use pi_protocol::json::JsonObject;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::OAuthContext;
use super::error::OAuthError;
use super::http::{TokenRequest, TokenResponse};
use crate::credentials::OAuthCredential;

/// How a service's token responses are interpreted.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenPolicy {
    /// How long before the service's expiry a token is treated as expired.
    pub(super) skew: Duration,
    /// Token lifetime if the service specifies none; `None` makes that an error.
    pub(super) default_lifetime: Option<Duration>,
}

impl TokenPolicy {
    /// Builds a credential from a successful response. Fields that a refresh omits keep their
    /// previous values.
    pub(super) fn credential(
        self,
        response: &TokenResponse,
        previous: Option<&OAuthCredential>,
        env: &Env,
    ) -> Result<OAuthCredential, OAuthError> {
        let refresh = match (response.string("refresh_token"), previous) {
            (Some(token), _) => token.into(),
            (None, Some(previous)) => previous.refresh.clone(),
            (None, None) => response.require("refresh_token")?.into(),
        };
        let lifetime = match (response.number("expires_in"), self.default_lifetime) {
            (None, Some(lifetime)) => lifetime,
            (Some(_), _) | (None, None) => {
                let seconds = response.require_number("expires_in")?;
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
        };
        Ok(OAuthCredential {
            access: response.require("access_token")?.into(),
            refresh,
            expires: env
                .now_ms()
                .saturating_add(milliseconds(lifetime))
                .saturating_sub(milliseconds(self.skew)),
            extra: previous.map_or_else(JsonObject::new, |previous| previous.extra.clone()),
        })
    }
}

/// Sends a standard token refresh request.
pub(super) async fn send_refresh(
    token_url: &str,
    client_id: &str,
    credential: &OAuthCredential,
    context: &OAuthContext,
) -> Result<TokenResponse, OAuthError> {
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", client_id),
        ("refresh_token", credential.refresh.expose_secret()),
    ];
    TokenRequest::form("token refresh", token_url, &fields)
        .send(context)
        .await?
        .ok()
}

/// Reads the claims of a JSON Web Token. Its signature is not verified.
pub(super) fn jwt_claims(token: &str) -> Option<Value> {
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
    // Tokens use the URL-safe alphabet; some tools re-encode them in the standard one.
    let claims = claims.replace('+', "-").replace('/', "_");
    serde_json::from_slice(&lenient.decode(claims).ok()?).ok()
}

pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
