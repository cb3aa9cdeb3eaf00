//! Requests to token endpoints: form or JSON request, JSON response, no secrets in errors.

use std::time::Duration;

use pi_http::{KnownSecrets, read_body, send_error, user_agent};
use pi_protocol::json::{JsonObject, value_to_string};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::error::OAuthError;
use super::{OAuthContext, unless_cancelled};

/// Maximum length of a service's error description in an error message.
const DESCRIPTION_LIMIT: usize = 512;
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Parts of the names of fields whose values are credentials.
const SECRET_FIELDS: [&str; 6] = ["token", "code", "secret", "verifier", "assertion", "key"];

pub(super) struct TokenRequest {
    what: &'static str,
    method: reqwest::Method,
    url: String,
    headers: Vec<(&'static str, String)>,
    bearer: Option<SecretString>,
    body: Option<(&'static str, String)>,
    /// Credentials in the body.
    secrets: Vec<String>,
    limit: Duration,
}

pub(super) struct TokenResponse {
    what: &'static str,
    pub(super) status: u16,
    /// The `retry-after` header, unparsed.
    pub(super) retry_after: Option<String>,
    text: String,
    /// The body, if it is a JSON object.
    json: Option<JsonObject>,
    /// The credentials of the request, which the service may repeat.
    secrets: KnownSecrets,
}

impl TokenRequest {
    pub(super) fn get(what: &'static str, url: impl Into<String>) -> Self {
        Self {
            what,
            method: reqwest::Method::GET,
            url: url.into(),
            headers: Vec::new(),
            bearer: None,
            body: None,
            secrets: Vec::new(),
            limit: TIME_LIMIT,
        }
    }

    /// Creates a POST request with a form body.
    pub(super) fn form(
        what: &'static str,
        url: impl Into<String>,
        fields: &[(&str, &str)],
    ) -> Self {
        let mut encoded = url::form_urlencoded::Serializer::new(String::new());
        encoded.extend_pairs(fields);
        Self {
            method: reqwest::Method::POST,
            body: Some(("application/x-www-form-urlencoded", encoded.finish())),
            secrets: secret_fields(fields.iter().copied()),
            ..Self::get(what, url)
        }
    }

    /// Creates a POST request with a JSON body.
    pub(super) fn json(what: &'static str, url: impl Into<String>, body: &Value) -> Self {
        let fields = body.as_object().into_iter().flatten();
        let fields = fields.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        Self {
            method: reqwest::Method::POST,
            secrets: secret_fields(fields),
            body: Some(("application/json", value_to_string(body))),
            ..Self::get(what, url)
        }
    }

    pub(super) fn bearer(mut self, token: &SecretString) -> Self {
        self.bearer = Some(token.clone());
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sends the request unless it is canceled first.
    pub(super) async fn send_cancellable(
        self,
        context: &OAuthContext,
        cancel: &CancellationToken,
    ) -> Result<TokenResponse, OAuthError> {
        unless_cancelled(cancel, self.send(context)).await
    }

    /// Sends the request and reads the full response.
    pub(super) async fn send(self, context: &OAuthContext) -> Result<TokenResponse, OAuthError> {
        let what = self.what;
        let limit = self.limit;
        tokio::time::timeout(limit, self.exchange(context))
            .await
            .unwrap_or(Err(OAuthError::TimedOut { what, limit }))
    }

    async fn exchange(self, context: &OAuthContext) -> Result<TokenResponse, OAuthError> {
        let what = self.what;
        let secrets = self.secrets();
        let unsent = |problem: String| OAuthError::Network {
            what,
            problem,
            sent: false,
        };
        let url = Url::parse(&self.url)
            .map_err(|error| unsent(format!("invalid URL {}: {error}", self.url)))?;
        let (client, route) = context
            .http
            .client_and_route(&url, &context.env)
            .map_err(|error| unsent(error.message))?;
        let mut request = client
            .request(self.method, url)
            .header(USER_AGENT, user_agent())
            .header(ACCEPT, "application/json");
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(token) = &self.bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose_secret()));
        }
        if let Some((content_type, body)) = self.body {
            request = request.header(CONTENT_TYPE, content_type).body(body);
        }
        let response = request.send().await.map_err(|error| OAuthError::Network {
            what,
            sent: !error.is_connect() && !error.is_builder(),
            problem: secrets.redact(send_error(error, &route).message),
        })?;
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get(reqwest::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let body = read_body(response, &route)
            .await
            .map_err(|error| OAuthError::Network {
                what,
                problem: error.message,
                sent: true,
            })?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let json = serde_json::from_str(&text).ok();
        Ok(TokenResponse {
            what,
            status,
            retry_after,
            text,
            json,
            secrets,
        })
    }

    /// Returns the credentials of the request.
    fn secrets(&self) -> KnownSecrets {
        let bearer = self.bearer.iter();
        let bearer = bearer.map(|token| token.expose_secret().to_owned());
        let headers = self.headers.iter().filter(|(name, _)| is_secret(name));
        let headers = headers.map(|(_, value)| value.clone());
        KnownSecrets::new(bearer.chain(headers).chain(self.secrets.iter().cloned()))
    }
}

fn secret_fields<'body>(fields: impl Iterator<Item = (&'body str, &'body str)>) -> Vec<String> {
    let secret = fields.filter(|(name, _)| is_secret(name));
    secret.map(|(_, value)| value.to_owned()).collect()
}

/// Returns whether a field or header with this name contains a credential.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_FIELDS.iter().any(|part| name.contains(part))
}

impl TokenResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the service's error code, such as `slow_down`.
    pub(super) fn error_code(&self) -> Option<&str> {
        match self.json.as_ref()?.get("error")? {
            Value::String(code) => Some(code),
            Value::Object(error) => error.get("code")?.as_str(),
            _ => None,
        }
    }

    /// Returns a non-empty string field.
    pub(super) fn string(&self, field: &str) -> Option<&str> {
        self.value(field)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns a required string field.
    pub(super) fn require(&self, field: &str) -> Result<&str, OAuthError> {
        self.string(field)
            .ok_or_else(|| self.protocol(format!("has no valid \"{field}\"")))
    }

    /// Returns a positive number field; numeric strings are accepted.
    pub(super) fn number(&self, field: &str) -> Option<f64> {
        let value = self.value(field)?;
        value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok())
            .filter(|number| number.is_finite() && *number > 0.0)
    }

    /// Returns a required positive number field.
    pub(super) fn require_number(&self, field: &str) -> Result<f64, OAuthError> {
        self.number(field)
            .ok_or_else(|| self.protocol(format!("has no valid \"{field}\"")))
    }

    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.json.as_ref()?.get(field)
    }

    /// Returns the response if it indicates success, otherwise its error.
    pub(super) fn ok(self) -> Result<Self, OAuthError> {
        if !self.is_success() {
            return Err(self.error_from_status());
        }
        if self.json.is_none() {
            return Err(self.protocol("is not a JSON object"));
        }
        Ok(self)
    }

    pub(super) fn protocol(&self, problem: impl Into<String>) -> OAuthError {
        OAuthError::Protocol {
            what: self.what,
            problem: problem.into(),
        }
    }

    /// Returns the error for a response with an error status.
    pub(super) fn error_from_status(&self) -> OAuthError {
        let (what, status, description) = (self.what, self.status, self.description());
        // RFC 6749 specifies 400 and 401; a gateway in front may send 403.
        if matches!(status, 400 | 401 | 403) {
            OAuthError::Rejected {
                what,
                status,
                description,
            }
        } else {
            OAuthError::Service {
                what,
                status,
                description,
            }
        }
    }

    /// Returns the error for a response with an error code, regardless of its status: GitHub sends
    /// failures with 200.
    pub(super) fn error_from_code(&self) -> OAuthError {
        if self.status == 429 || self.status >= 500 {
            return self.error_from_status();
        }
        OAuthError::Rejected {
            what: self.what,
            status: self.status,
            description: self.description(),
        }
    }

    /// Returns the service's error description.
    pub(super) fn description(&self) -> Option<String> {
        let json = self.json.as_ref();
        let field = |name: &str| json.and_then(|json| json.get(name)?.as_str());
        let nested = json.and_then(|json| json.get("error")?.get("message")?.as_str());
        let parts: Vec<&str> = [
            self.error_code(),
            field("error_description"),
            field("detail"),
            field("message"),
            nested,
        ]
        .into_iter()
        .flatten()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect();
        let text = if json.is_some() {
            parts.join(": ")
        } else {
            self.text.trim().to_owned()
        };
        let text = self.secrets.redact(text);
        let mut shortened: String = text.chars().take(DESCRIPTION_LIMIT).collect();
        if shortened.len() < text.len() {
            shortened.push('…');
        }
        (!shortened.is_empty()).then_some(shortened)
    }
}
