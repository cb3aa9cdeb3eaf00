//! Requests to token endpoints: a form or JSON out, JSON back, no secret in any error.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::error::OAuthError;
use super::{OAuthContext, unless_cancelled};
use crate::json::{JsonObject, value_to_string};
use crate::transport::{read_body, send_error, user_agent};

/// The longest answer of a service that is repeated in an error.
const DESCRIPTION_LIMIT: usize = 512;
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// One request to a token endpoint.
pub(super) struct TokenRequest {
    what: &'static str,
    method: reqwest::Method,
    url: String,
    headers: Vec<(&'static str, String)>,
    bearer: Option<SecretString>,
    body: Option<(&'static str, String)>,
    limit: Duration,
}

/// The answer of a token endpoint.
pub(super) struct TokenAnswer {
    what: &'static str,
    pub(super) status: u16,
    /// The wait the service asks for, as it was sent.
    pub(super) retry_after: Option<String>,
    text: String,
    /// The body, when it is a JSON object.
    json: Option<JsonObject>,
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
            limit: TIME_LIMIT,
        }
    }

    /// Posts a form.
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
            ..Self::get(what, url)
        }
    }

    /// Posts JSON.
    pub(super) fn json(what: &'static str, url: impl Into<String>, body: &Value) -> Self {
        Self {
            method: reqwest::Method::POST,
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

    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sends the request unless it is cancelled first.
    pub(super) async fn send_unless(
        self,
        context: &OAuthContext,
        cancel: &CancellationToken,
    ) -> Result<TokenAnswer, OAuthError> {
        unless_cancelled(cancel, self.send(context)).await
    }

    /// Sends the request and reads the whole answer.
    pub(super) async fn send(self, context: &OAuthContext) -> Result<TokenAnswer, OAuthError> {
        let what = self.what;
        let limit = self.limit;
        tokio::time::timeout(limit, self.exchange(context))
            .await
            .unwrap_or(Err(OAuthError::TimedOut { what, limit }))
    }

    async fn exchange(self, context: &OAuthContext) -> Result<TokenAnswer, OAuthError> {
        let what = self.what;
        let unsent = |problem: String| OAuthError::Network {
            what,
            problem,
            sent: false,
        };
        let url = Url::parse(&self.url)
            .map_err(|error| unsent(format!("{} is no address: {error}", self.url)))?;
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
            problem: send_error(error, &route).message,
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
        Ok(TokenAnswer {
            what,
            status,
            retry_after,
            text,
            json,
        })
    }
}

impl TokenAnswer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the error code the service gave, such as `slow_down`.
    pub(super) fn error_code(&self) -> Option<&str> {
        match self.json.as_ref()?.get("error")? {
            Value::String(code) => Some(code),
            Value::Object(error) => error.get("code")?.as_str(),
            _ => None,
        }
    }

    /// Returns a non-empty text of the answer.
    pub(super) fn string(&self, field: &str) -> Option<&str> {
        self.value(field)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns a text of the answer that must be there.
    pub(super) fn require(&self, field: &str) -> Result<&str, OAuthError> {
        self.string(field)
            .ok_or_else(|| self.protocol(format!("has no usable \"{field}\"")))
    }

    /// Returns a positive number of the answer, also when it is written as text.
    pub(super) fn number(&self, field: &str) -> Option<f64> {
        let value = self.value(field)?;
        value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok())
            .filter(|number| number.is_finite() && *number > 0.0)
    }

    /// Returns a positive number that must be there.
    pub(super) fn require_number(&self, field: &str) -> Result<f64, OAuthError> {
        self.number(field)
            .ok_or_else(|| self.protocol(format!("has no usable \"{field}\"")))
    }

    /// Returns any value of the answer.
    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.json.as_ref()?.get(field)
    }

    /// Returns the answer if it is a success, its failure otherwise.
    pub(super) fn ok(self) -> Result<Self, OAuthError> {
        if !self.is_success() {
            return Err(self.failure());
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

    /// Words and classifies an answer that is not a success.
    pub(super) fn failure(&self) -> OAuthError {
        let (what, status, description) = (self.what, self.status, self.description());
        // RFC 6749 asks for 400 and 401; a gateway in front may say 403.
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

    /// Words an answer that names an error, whatever its status: GitHub sends failures with 200.
    pub(super) fn refusal(&self) -> OAuthError {
        if self.status == 429 || self.status >= 500 {
            return self.failure();
        }
        OAuthError::Rejected {
            what: self.what,
            status: self.status,
            description: self.description(),
        }
    }

    /// Returns the service's own words about a failure.
    pub(super) fn description(&self) -> Option<String> {
        let json = self.json.as_ref();
        let field = |name: &str| json.and_then(|json| json.get(name)?.as_str());
        let nested = json.and_then(|json| json.get("error")?.get("message")?.as_str());
        let words: Vec<&str> = [
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
            words.join(": ")
        } else {
            self.text.trim().to_owned()
        };
        let mut shortened: String = text.chars().take(DESCRIPTION_LIMIT).collect();
        if shortened.len() < text.len() {
            shortened.push('…');
        }
        (!shortened.is_empty()).then_some(shortened)
    }
}
