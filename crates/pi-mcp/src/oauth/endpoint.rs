//! Requests to authorization servers.

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use pi_config::is_loopback_host;
use pi_env::Env;
use pi_http::{HttpClient, send_error, user_agent};
use serde_json::Value;
use url::Url;

use super::OAuthFailure;
use crate::http::read_limited;

/// Limit for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// Limit for a response.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

#[derive(Clone)]
pub(super) struct OAuthHttp {
    client: HttpClient,
    env: Env,
}

/// A response; JSON if it is some.
pub(super) struct OAuthResponse {
    pub(super) status: u16,
    pub(super) json: Option<Value>,
    pub(super) text: String,
}

impl OAuthResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the document does not exist, and another one may.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.status, 400..=499 | 502)
    }
}

impl OAuthHttp {
    pub(super) fn new(client: HttpClient, env: Env) -> Self {
        Self { client, env }
    }

    /// Reads a document with metadata.
    pub(super) async fn get(&self, url: &Url) -> Result<OAuthResponse, OAuthFailure> {
        let mut headers = HeaderMap::new();
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static("2025-11-25"));
        self.send(Method::GET, url, headers, None).await
    }

    pub(super) async fn post_json(
        &self,
        url: &Url,
        body: &Value,
    ) -> Result<OAuthResponse, OAuthFailure> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(Method::POST, url, headers, Some(body.to_string()))
            .await
    }

    /// Sends a form; `authorization` is the header of that name.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, String)],
        authorization: Option<HeaderValue>,
    ) -> Result<OAuthResponse, OAuthFailure> {
        let mut headers = HeaderMap::new();
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, kind);
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        let body = encode_form(form);
        self.send(Method::POST, url, headers, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<String>,
    ) -> Result<OAuthResponse, OAuthFailure> {
        let failed = |text: String| OAuthFailure::Other(text);
        let (client, route) = self
            .client
            .client_and_route(url, &self.env)
            .map_err(|error| failed(error.message))?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Ok(agent) = HeaderValue::from_str(&user_agent()) {
            headers.insert(USER_AGENT, agent);
        }
        let mut request = client.request(method, url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let exchange = async {
            let response = request.send().await;
            let response = response.map_err(|error| failed(send_error(error, &route).message))?;
            let status = response.status().as_u16();
            let body = read_limited(response, &route, MAX_RESPONSE_BYTES).await;
            let body = body.map_err(|error| failed(error.to_string()))?;
            let text = String::from_utf8_lossy(&body).into_owned();
            Ok(OAuthResponse {
                status,
                json: serde_json::from_str(&text).ok(),
                text,
            })
        };
        let limited = tokio::time::timeout(REQUEST_TIMEOUT, exchange).await;
        limited.unwrap_or_else(|_elapsed| {
            Err(failed(format!(
                "{route} did not respond within {} s",
                REQUEST_TIMEOUT.as_secs()
            )))
        })
    }
}

fn encode_form(form: &[(&str, String)]) -> String {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(form);
    body.finish()
}

/// Parses a URL that may be requested or opened.
pub(super) fn web_url(text: &str, subject: &str) -> Result<Url, OAuthFailure> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| OAuthFailure::Other(format!("the {subject} is not an http or https URL")))
}

/// Returns a URL that credentials may be sent to.
pub(super) fn secure(url: Url) -> Result<Url, OAuthFailure> {
    if url.scheme() == "https" || is_loopback_host(&url) {
        Ok(url)
    } else {
        Err(OAuthFailure::Insecure(url.into()))
    }
}
