//! Calls of Slack's Web API. Errors never contain a token or an address with a ticket.

use std::time::Duration;

use pi_env::Env;
use pi_http::{HttpClient, user_agent};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::chat::ChatError;

const SERVICE: &str = "Slack";

/// Time limit of a call.
const CALL_TIME: Duration = Duration::from_mins(1);

/// Time limit of a file transfer.
const FILE_TIME: Duration = Duration::from_mins(10);

/// Wait if Slack does not say how long.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

pub(super) struct WebApi {
    base: String,
    http: HttpClient,
    env: Env,
}

impl WebApi {
    pub(super) fn new(base: &str, http: HttpClient, env: Env) -> Self {
        Self {
            base: format!("{}/", base.trim_end_matches('/')),
            http,
            env,
        }
    }

    pub(super) fn http(&self) -> &HttpClient {
        &self.http
    }

    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    pub(super) async fn call(
        &self,
        method: &str,
        token: &SecretString,
        arguments: Value,
    ) -> Result<Value, ChatError> {
        let response = self.send(method, token, &arguments).await?;
        read(method, response).await
    }

    /// Calls without arguments, and returns the scopes of the token, too.
    pub(super) async fn call_with_scopes(
        &self,
        method: &str,
        token: &SecretString,
    ) -> Result<(Value, Option<String>), ChatError> {
        let response = self.send(method, token, &Value::Null).await?;
        let scopes = response.headers().get("x-oauth-scopes");
        let scopes = scopes
            .and_then(|scopes| scopes.to_str().ok())
            .map(str::to_owned);
        Ok((read(method, response).await?, scopes))
    }

    async fn send(
        &self,
        method: &str,
        token: &SecretString,
        arguments: &Value,
    ) -> Result<Response, ChatError> {
        // Some methods accept only forms, and all of them do.
        let mut form = String::new();
        for (name, value) in arguments.as_object().into_iter().flatten() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let mut pair = Url::parse("form:?").map_err(invalid)?;
            pair.query_pairs_mut().append_pair(name, &value);
            if !form.is_empty() {
                form.push('&');
            }
            form.push_str(pair.query().unwrap_or_default());
        }
        let request = self.request(Method::POST, &format!("{}{method}", self.base))?;
        let request = request
            .bearer_auth(token.expose_secret())
            .header("content-type", "application/x-www-form-urlencoded")
            .timeout(CALL_TIME)
            .body(form);
        let response = request.send().await.map_err(network)?;
        check_limit(&response)?;
        Ok(response)
    }

    fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, ChatError> {
        let url = Url::parse(url).map_err(invalid)?;
        let client = self.http.client_for(&url, &self.env);
        let client = client.map_err(|error| ChatError::Network(error.to_string()))?;
        Ok(client
            .request(method, url)
            .header("user-agent", user_agent()))
    }

    /// Sends the contents of a file to an address that Slack gave.
    pub(super) async fn put(&self, url: &str, bytes: &[u8]) -> Result<(), ChatError> {
        let request = self.request(Method::POST, url)?;
        let request = request.timeout(FILE_TIME).body(bytes.to_vec());
        let response = request.send().await.map_err(network)?;
        check_limit(&response)?;
        if !response.status().is_success() {
            return Err(rejected("upload", response.status().to_string()));
        }
        Ok(())
    }

    /// Downloads a private file. The token is sent only to the hosts of Slack, or to the one of the configured API.
    pub(super) async fn download(
        &self,
        url: &str,
        token: &SecretString,
        limit: u64,
    ) -> Result<Vec<u8>, ChatError> {
        let mut request = self.request(Method::GET, url)?.timeout(FILE_TIME);
        if self.is_trusted(url) {
            request = request.bearer_auth(token.expose_secret());
        }
        let mut response = request.send().await.map_err(network)?;
        check_limit(&response)?;
        if !response.status().is_success() {
            return Err(rejected("download", response.status().to_string()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(network)? {
            if bytes.len() as u64 + chunk.len() as u64 > limit {
                return Err(ChatError::TooLarge(limit));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn is_trusted(&self, url: &str) -> bool {
        let (Ok(url), Ok(base)) = (Url::parse(url), Url::parse(&self.base)) else {
            return false;
        };
        let host = url.host_str().unwrap_or_default();
        let is_slack =
            url.scheme() == "https" && (host == "slack.com" || host.ends_with(".slack.com"));
        is_slack || url.origin() == base.origin()
    }
}

fn check_limit(response: &Response) -> Result<(), ChatError> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS {
        return Ok(());
    }
    let wait = response.headers().get("retry-after");
    let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
    Err(ChatError::RateLimited {
        service: SERVICE,
        wait: wait.map_or(DEFAULT_WAIT, Duration::from_secs),
    })
}

async fn read(method: &str, response: Response) -> Result<Value, ChatError> {
    let status = response.status();
    if status.is_server_error() {
        return Err(ChatError::Network(format!(
            "Slack failed: {method}: {status}"
        )));
    }
    let text = response.text().await.map_err(network)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| ChatError::Protocol {
        service: SERVICE,
        method: method.to_owned(),
        reason: format!("{status}: {error}"),
    })?;
    if value.get("ok") == Some(&Value::Bool(true)) {
        return Ok(value);
    }
    let reason = value
        .get("error")
        .and_then(Value::as_str)
        .unwrap_or("no reason");
    let reason: String = reason.chars().take(200).collect();
    Err(match reason.as_str() {
        "ratelimited" | "rate_limited" => ChatError::RateLimited {
            service: SERVICE,
            wait: DEFAULT_WAIT,
        },
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
            ChatError::Network(format!("Slack failed: {method}: {reason}"))
        }
        "invalid_auth" | "not_authed" | "account_inactive" | "token_revoked" | "token_expired" => {
            ChatError::Token {
                service: SERVICE,
                reason,
            }
        }
        _ => rejected(method, reason),
    })
}

fn rejected(method: &str, reason: String) -> ChatError {
    ChatError::Rejected {
        service: SERVICE,
        method: method.to_owned(),
        reason,
    }
}

fn network(error: reqwest::Error) -> ChatError {
    let error = error.without_url();
    ChatError::Network(format!(
        "cannot reach Slack: {}",
        pi_http::root_cause(&error)
    ))
}

fn invalid(_error: impl std::error::Error) -> ChatError {
    // The address may contain a ticket.
    ChatError::Network("not a valid address".to_owned())
}
