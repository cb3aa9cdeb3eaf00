//! Exchanges a credential for an access token: with a signed assertion, a refresh token or a
//! request to the metadata server.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use pi_env::{Env, env_vars};
use pi_http::{HttpClient, Route, read_body, root_cause, user_agent};
use pi_protocol::{ErrorClass, ProviderError};
use reqwest::Url;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::CachedToken;
use super::source::{
    AuthorizedUser, FileKey, GoogleCredentialSource, SETUP_HINT, ServiceAccount, no_credentials,
};

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const ASSERTION_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_LIFETIME_SECONDS: i64 = 3600;
const METADATA_PATH: &str = "computeMetadata/v1/instance/service-accounts/default/token";

/// Short, because outside Google Cloud nothing responds at the metadata address and users
/// should not wait long to find out.
const METADATA_TIMEOUT: Duration = Duration::from_secs(3);

const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct GoogleTokenResponse {
    access_token: String,
    #[serde(default)]
    expires_in: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenErrorBody {
    error: Option<Value>,
    error_description: Option<String>,
}

pub(super) async fn fetch_token(
    source: &GoogleCredentialSource,
    http: &HttpClient,
    env: &Env,
) -> Result<CachedToken, ProviderError> {
    match source {
        GoogleCredentialSource::File { path, key, .. } => {
            let (token_uri, form) = match key {
                FileKey::ServiceAccount(account) => account.token_form(path, env)?,
                FileKey::AuthorizedUser(user) => user.token_form(),
            };
            let target = target_url(token_uri)?;
            let (client, route) = http.client_and_route(&target, env)?;
            let request = client
                .post(target)
                .header("user-agent", user_agent())
                .header("content-type", "application/x-www-form-urlencoded")
                .body(encode_form(&form))
                .timeout(TOKEN_TIMEOUT);
            let response = request.send().await.map_err(|error| {
                ProviderError::network(format!(
                    "cannot fetch an access token from {token_uri}: {}",
                    root_cause(&error.without_url())
                ))
            })?;
            let origin = format!("the credentials in {}", path.display());
            read_token(response, &route, &origin, env).await
        }
        GoogleCredentialSource::Metadata { base_url } => {
            let query = encode_form(&[("scopes", SCOPE)]);
            let target = target_url(&format!("{base_url}/{METADATA_PATH}?{query}"))?;
            let (client, route) = http.client_and_route(&target, &without_proxy(env))?;
            let request = client
                .get(target)
                .header("user-agent", user_agent())
                .header("metadata-flavor", "Google")
                .timeout(METADATA_TIMEOUT);
            let response = request.send().await.map_err(|error| {
                no_credentials(format_args!(
                    "no credentials file, and no metadata server responds at {base_url}: {}",
                    root_cause(&error.without_url())
                ))
            })?;
            let origin = format!("the metadata server at {base_url}");
            read_token(response, &route, &origin, env).await
        }
    }
}

fn target_url(url: &str) -> Result<Url, ProviderError> {
    Url::parse(url)
        .map_err(|error| ProviderError::auth(format!("invalid token URL {url}: {error}")))
}

/// The metadata server is local to the machine; a proxy would query its own.
fn without_proxy(env: &Env) -> Env {
    let everything = (env_vars::NO_PROXY.to_ascii_lowercase(), "*".to_owned());
    env.with_overrides(&BTreeMap::from([everything]))
}

type Form<'a> = Vec<(&'static str, Cow<'a, str>)>;

impl ServiceAccount {
    fn token_form(&self, path: &Path, env: &Env) -> Result<(&str, Form<'_>), ProviderError> {
        let assertion = self
            .signed_assertion(env.now_ms() / 1000)
            .map_err(|problem| {
                ProviderError::auth(format!(
                    "cannot use the private key in the Google credentials file {}: {problem}",
                    path.display()
                ))
            })?;
        let form = vec![
            ("grant_type", ASSERTION_GRANT.into()),
            ("assertion", assertion.into()),
        ];
        Ok((&self.token_uri, form))
    }

    /// Creates the signed assertion for a token request (RFC 7523, RS256).
    fn signed_assertion(&self, now_seconds: i64) -> Result<String, String> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.private_key_id {
            header["kid"] = id.as_str().into();
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": now_seconds,
            "exp": now_seconds + ASSERTION_LIFETIME_SECONDS,
        });
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed_part = format!("{}.{}", encode(&header), encode(&claims));
        let signature = sign(&self.private_key, signed_part.as_bytes())?;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("{signed_part}.{signature}"))
    }
}

impl AuthorizedUser {
    fn token_form(&self) -> (&str, Form<'_>) {
        let form = vec![
            ("grant_type", "refresh_token".into()),
            ("client_id", self.client_id.as_str().into()),
            ("client_secret", self.client_secret.expose_secret().into()),
            ("refresh_token", self.refresh_token.expose_secret().into()),
        ];
        (&self.token_uri, form)
    }
}

fn sign(private_key: &SecretString, text: &[u8]) -> Result<Vec<u8>, String> {
    let key = PrivateKeyDer::from_pem_slice(private_key.expose_secret().as_bytes())
        .map_err(|error| format!("not in PEM format ({error})"))?;
    let pair = match &key {
        PrivateKeyDer::Pkcs8(key) => KeyPair::from_pkcs8(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(key) => KeyPair::from_der(key.secret_pkcs1_der()),
        _ => return Err("not an RSA key".to_owned()),
    }
    .map_err(|error| format!("not an RSA key ({error})"))?;
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        text,
        &mut signature,
    )
    .map_err(|error| format!("signing failed ({error})"))?;
    Ok(signature)
}

/// Encodes a form or a query string, which use the same encoding.
fn encode_form<Value: AsRef<str>>(fields: &[(&str, Value)]) -> String {
    let mut encoded = url::form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(fields);
    encoded.finish()
}

async fn read_token(
    response: reqwest::Response,
    route: &Route,
    origin: &str,
    env: &Env,
) -> Result<CachedToken, ProviderError> {
    let status = response.status().as_u16();
    let is_success = response.status().is_success();
    let body = read_body(response, route)
        .await
        .map_err(|error| ProviderError {
            message: format!(
                "cannot read the access token for {origin}: {}",
                error.message
            ),
            ..error
        })?;
    if !is_success {
        return Err(token_error(status, &body, origin));
    }
    let token: GoogleTokenResponse = serde_json::from_slice(&body).map_err(|error| {
        ProviderError::protocol(format!(
            "the token response for {origin} has no token: {error}"
        ))
    })?;
    Ok(CachedToken {
        access_token: token.access_token.into(),
        expires_at_ms: env
            .now_ms()
            .saturating_add(token.expires_in.saturating_mul(1000)),
    })
}

fn token_error(status: u16, body: &[u8], origin: &str) -> ProviderError {
    let class = match status {
        408 | 429 | 500..=599 => ErrorClass::Overloaded,
        _ => ErrorClass::Auth,
    };
    let parsed: TokenErrorBody = serde_json::from_slice(body).unwrap_or_default();
    let reason = match (parsed.error, parsed.error_description) {
        (Some(Value::String(error)), Some(description)) => format!("{error}, {description}"),
        (Some(Value::String(reason)), None) | (None, Some(reason)) => reason,
        _ => "no reason given".to_owned(),
    };
    let hint = match class {
        ErrorClass::Auth => format!("; {SETUP_HINT}"),
        _ => String::new(),
    };
    let message = format!(
        "Google rejected the access token request for {origin}: HTTP {status}, {reason}{hint}"
    );
    ProviderError::new(class, message).with_status(status)
}
