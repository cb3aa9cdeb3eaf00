//! From the answer of a token endpoint to a credential.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::OAuthContext;
use super::error::OAuthError;
use super::http::{TokenAnswer, TokenRequest};
use crate::credentials::OAuthCredential;
use crate::env::Env;
use crate::json::JsonObject;

/// How the answers of a service are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenRules {
    /// How much earlier than the service says a token counts as expired.
    pub(super) skew: Duration,
    /// The lifetime of a token when the service names none; `None` makes that an error.
    pub(super) default_lifetime: Option<Duration>,
}

impl TokenRules {
    /// Makes a credential of a successful answer. What a renewal does not mention stays as it was.
    pub(super) fn credential(
        self,
        answer: &TokenAnswer,
        previous: Option<&OAuthCredential>,
        env: &Env,
    ) -> Result<OAuthCredential, OAuthError> {
        let refresh = match (answer.string("refresh_token"), previous) {
            (Some(token), _) => token.into(),
            (None, Some(previous)) => previous.refresh.clone(),
            (None, None) => answer.require("refresh_token")?.into(),
        };
        let lifetime = match (answer.number("expires_in"), self.default_lifetime) {
            (None, Some(lifetime)) => lifetime,
            (Some(_), _) | (None, None) => {
                let seconds = answer.require_number("expires_in")?;
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
        };
        Ok(OAuthCredential {
            access: answer.require("access_token")?.into(),
            refresh,
            expires: env
                .now_ms()
                .saturating_add(milliseconds(lifetime))
                .saturating_sub(milliseconds(self.skew)),
            extra: previous.map_or_else(JsonObject::new, |previous| previous.extra.clone()),
        })
    }
}

/// Asks for the next token, in the words of the standard.
pub(super) async fn renewed(
    token_url: &str,
    client_id: &str,
    credential: &OAuthCredential,
    context: &OAuthContext,
) -> Result<TokenAnswer, OAuthError> {
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", client_id),
        ("refresh_token", credential.refresh.expose_secret()),
    ];
    TokenRequest::form("the token renewal", token_url, &fields)
        .send(context)
        .await?
        .ok()
}

pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
