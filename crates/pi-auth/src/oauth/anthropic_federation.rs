//! Workload identity federation of Anthropic: exchanges an identity token of the environment, such as
//! that of a CI job or a Kubernetes service account, for a short-lived access token.
//!
//! The identity token is read from its file at every exchange, because its issuer rotates it.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::json::JsonObject;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::{Host, Url};

use super::http::TokenRequest;
use super::token::milliseconds;
use super::{OAuthContext, OAuthError};

const RULE: &str = "ANTHROPIC_FEDERATION_RULE_ID";
const ORGANIZATION: &str = "ANTHROPIC_ORGANIZATION_ID";
const TOKEN_FILE: &str = "ANTHROPIC_IDENTITY_TOKEN_FILE";
const SERVICE_ACCOUNT: &str = "ANTHROPIC_SERVICE_ACCOUNT_ID";
const WORKSPACE: &str = "ANTHROPIC_WORKSPACE_ID";
const REQUIRED: [&str; 3] = [RULE, ORGANIZATION, TOKEN_FILE];
const OPTIONAL: [&str; 2] = [SERVICE_ACCOUNT, WORKSPACE];

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const BETAS: &str = "oauth-2025-04-20,oidc-federation-2026-04-01";
const WHAT: &str = "workload identity federation";
/// The service rejects longer identity tokens.
const MAX_IDENTITY_BYTES: usize = 16 * 1024;
/// A token is replaced this long before its expiry, but used further if that fails,
const REFRESH_MARGIN: Duration = Duration::from_mins(2);
/// until this long before its expiry.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// Provides access tokens; clones share one cache.
#[derive(Debug, Clone)]
pub struct AnthropicFederation {
    http: HttpClient,
    tokens: Arc<Mutex<HashMap<FederationKey, TokenSlot>>>,
}

/// Base URL and variables of a federation.
type FederationKey = (String, BTreeMap<&'static str, String>);

/// Cached token; locked while a new token is fetched, so other requests wait for it.
type TokenSlot = Arc<tokio::sync::Mutex<Option<FederatedToken>>>;

#[derive(Debug, Clone)]
struct FederatedToken {
    access: SecretString,
    expires_at_ms: i64,
}

/// Returns the variables of a federation; `None` if a required one is not set.
pub(crate) fn federation_variables(env: &Env) -> Option<BTreeMap<&'static str, String>> {
    let variable = |name: &'static str| {
        let value = env.var(name).filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    };
    let mut variables: BTreeMap<_, _> =
        REQUIRED.into_iter().map(variable).collect::<Option<_>>()?;
    variables.extend(OPTIONAL.into_iter().filter_map(variable));
    Some(variables)
}

impl AnthropicFederation {
    pub fn new(http: HttpClient) -> Self {
        Self {
            http,
            tokens: Arc::default(),
        }
    }

    /// Returns an access token for the service at `base_url`; `None` if the environment configures no
    /// federation.
    pub async fn token(
        &self,
        base_url: &str,
        env: &Env,
    ) -> Result<Option<SecretString>, OAuthError> {
        let Some(variables) = federation_variables(env) else {
            return Ok(None);
        };
        let base_url = base_url.trim_end_matches('/').to_owned();
        let slot = self.slot((base_url.clone(), variables.clone()));
        let mut cached = slot.lock().await;
        let valid_for = |margin: Duration, token: &FederatedToken| {
            token.expires_at_ms - milliseconds(margin) > env.now_ms()
        };
        if let Some(token) = cached
            .as_ref()
            .filter(|token| valid_for(REFRESH_MARGIN, token))
        {
            return Ok(Some(token.access.clone()));
        }
        match self.exchange(&base_url, &variables, env).await {
            Ok(token) => Ok(Some(cached.insert(token).access.clone())),
            Err(error) => match cached
                .as_ref()
                .filter(|token| valid_for(EXPIRY_MARGIN, token))
            {
                Some(token) => {
                    tracing::warn!(%error, "cannot replace the federated token yet");
                    Ok(Some(token.access.clone()))
                }
                None => Err(error),
            },
        }
    }

    /// Drops all tokens, after the service has rejected one.
    pub fn clear(&self) {
        let mut tokens = self.tokens.lock();
        tokens.clear();
    }

    fn slot(&self, key: FederationKey) -> TokenSlot {
        let mut tokens = self.tokens.lock();
        Arc::clone(tokens.entry(key).or_default())
    }

    async fn exchange(
        &self,
        base_url: &str,
        variables: &BTreeMap<&'static str, String>,
        env: &Env,
    ) -> Result<FederatedToken, OAuthError> {
        let url = token_url(base_url)?;
        let identity = identity_token(variables).await?;
        let mut body = JsonObject::new();
        body.insert("grant_type".to_owned(), GRANT_TYPE.into());
        body.insert("assertion".to_owned(), identity.expose_secret().into());
        let fields = [
            ("federation_rule_id", RULE),
            ("organization_id", ORGANIZATION),
            ("service_account_id", SERVICE_ACCOUNT),
            ("workspace_id", WORKSPACE),
        ];
        for (field, variable) in fields {
            if let Some(value) = variables.get(variable) {
                body.insert(field.to_owned(), value.as_str().into());
            }
        }
        let context = OAuthContext::new(self.http.clone(), env.clone());
        let response = TokenRequest::json(WHAT, url, &Value::Object(body))
            .header("anthropic-beta", BETAS)
            .send(&context)
            .await?
            .ok()
            .map_err(|error| without_secret(error, &identity))?;
        let lifetime = Duration::try_from_secs_f64(response.require_number("expires_in")?)
            .unwrap_or(Duration::MAX);
        Ok(FederatedToken {
            access: response.require("access_token")?.into(),
            expires_at_ms: env.now_ms().saturating_add(milliseconds(lifetime)),
        })
    }
}

/// Returns the token endpoint. An identity token is sent in plain text only to this machine.
fn token_url(base_url: &str) -> Result<String, OAuthError> {
    let is_secure = Url::parse(base_url).is_ok_and(|url| match url.scheme() {
        "https" => true,
        "http" => match url.host() {
            Some(Host::Domain(domain)) => domain == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        },
        _ => false,
    });
    if !is_secure {
        return Err(OAuthError::InvalidInput(format!(
            "{WHAT} requires an https base URL, not {base_url}"
        )));
    }
    Ok(format!("{base_url}/v1/oauth/token"))
}

async fn identity_token(
    variables: &BTreeMap<&'static str, String>,
) -> Result<SecretString, OAuthError> {
    let file = variables
        .get(TOKEN_FILE)
        .map(String::as_str)
        .unwrap_or_default();
    let problem = |problem: String| OAuthError::InvalidInput(format!("{TOKEN_FILE}: {problem}"));
    let text = tokio::fs::read_to_string(file)
        .await
        .map_err(|error| problem(format!("cannot read {file}: {error}")))?;
    let token = text.trim();
    if token.is_empty() {
        return Err(problem(format!("{file} is empty")));
    }
    if token.len() > MAX_IDENTITY_BYTES {
        return Err(problem(format!("{file} is larger than 16 KiB")));
    }
    Ok(token.into())
}

/// Removes the identity token from an error, in case the service repeats it.
fn without_secret(error: OAuthError, secret: &SecretString) -> OAuthError {
    let redact =
        |text: Option<String>| text.map(|text| text.replace(secret.expose_secret(), "[redacted]"));
    match error {
        OAuthError::Rejected {
            what,
            status,
            description,
        } => OAuthError::Rejected {
            what,
            status,
            description: redact(description),
        },
        OAuthError::Service {
            what,
            status,
            description,
        } => OAuthError::Service {
            what,
            status,
            description: redact(description),
        },
        other => other,
    }
}
