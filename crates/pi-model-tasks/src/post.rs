//! Sends a JSON request with resolved credentials and reads the JSON response, with retries.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use pi_http::{
    HeaderOverrides, HttpClient, KnownSecrets, ResponseHead, read_body, read_body_within,
    response_head, retry, send_error, set_header, to_header_map, user_agent,
};
use pi_protocol::{ErrorClass, ProviderError};
use pi_providers::wire::http_error::response_error;
use pi_providers::{ModelRequest, Models, StreamOptions};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::catalog::TaskModel;

/// Retries of a request whose options set no number.
const DEFAULT_RETRIES: u32 = 2;

/// Options of a classification or an image request.
#[derive(Debug, Clone, Default)]
pub struct TaskOptions {
    pub api_key: Option<SecretString>,
    pub headers: HeaderOverrides,
    pub env: BTreeMap<String, String>,
    /// Retries before the request fails; the API decides if unset.
    pub max_retries: Option<u32>,
    /// Limit of each attempt.
    pub timeout: Option<Duration>,
    /// Temperature of classifiers that compute probabilities themselves.
    pub temperature: Option<f64>,
    pub cancel: CancellationToken,
}

/// Limit of a download whose options set none.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(2);

/// The body of a request.
pub(crate) struct RequestBody {
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
}

impl RequestBody {
    fn json(value: &Value) -> Self {
        Self {
            content_type: "application/json".to_owned(),
            bytes: value.to_string().into(),
        }
    }
}

/// Parses a URL that requests can be sent to.
pub(crate) fn http_url(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// A service and the credential for it.
pub(crate) struct TaskClient {
    request: ModelRequest,
    http: HttpClient,
    max_retries: u32,
    timeout: Option<Duration>,
    no_retry: &'static [u16],
    /// Bytes of a response, if it may have more than usual.
    max_response: Option<usize>,
    secrets: KnownSecrets,
}

impl TaskClient {
    /// Resolves the credential, headers and base URL of a model.
    pub(crate) async fn new(
        models: &Models,
        model: &TaskModel,
        options: &TaskOptions,
        default_headers: HeaderOverrides,
    ) -> Result<Self, ProviderError> {
        let mut headers = default_headers;
        for (name, value) in options.headers.clone() {
            set_header(&mut headers, &name, value);
        }
        let stream = StreamOptions {
            api_key: options.api_key.clone(),
            headers,
            env: options.env.clone(),
            cancel: options.cancel.clone(),
            ..StreamOptions::default()
        };
        let request = models.prepare_request(&model.as_model(), stream).await?;
        let key = request.options.api_key.iter();
        Ok(Self {
            secrets: KnownSecrets::new(key.map(|key| key.expose_secret().to_owned())),
            request,
            http: models.http().clone(),
            max_retries: options.max_retries.unwrap_or(DEFAULT_RETRIES),
            timeout: options.timeout,
            no_retry: &[],
            max_response: None,
        })
    }

    pub(crate) fn without_retries_for(mut self, statuses: &'static [u16]) -> Self {
        self.no_retry = statuses;
        self
    }

    pub(crate) fn without_default_retries(mut self, options: &TaskOptions) -> Self {
        self.max_retries = options.max_retries.unwrap_or(0);
        self
    }

    pub(crate) fn with_max_response(mut self, bytes: usize) -> Self {
        self.max_response = Some(bytes);
        self
    }

    /// Fails if the provider has no key.
    pub(crate) fn require_key(&self) -> Result<(), ProviderError> {
        if self.request.options.api_key.is_some() {
            return Ok(());
        }
        let provider = &self.request.model.provider;
        let message = format!("no API key for provider {provider}: run /login {provider}");
        Err(ProviderError::auth(message))
    }

    /// Returns the base URL, without slashes at the end.
    pub(crate) fn base_url(&self) -> &str {
        self.request.model.base_url.trim_end_matches('/')
    }

    /// Sends a request and returns the response.
    pub(crate) async fn post(&self, url: &str, body: &Value) -> Result<Value, ProviderError> {
        self.post_body(url, RequestBody::json(body)).await
    }

    /// Sends a request with a body of any type and returns the response.
    pub(crate) async fn post_body(
        &self,
        url: &str,
        body: RequestBody,
    ) -> Result<Value, ProviderError> {
        let target = http_url(url)
            .ok_or_else(|| ProviderError::invalid("the base URL is not an http or https URL"))?;
        let body = &body;
        let mut retries = 0;
        loop {
            let (error, head) = match self.attempt(&target, body).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let may_retry = match &head {
                Some(head) => !self.no_retry.contains(&head.status) && retry::is_retryable(head),
                None => error.class == ErrorClass::Network,
            };
            if !may_retry || retries >= self.max_retries {
                return Err(self.redacted(error));
            }
            let now = self.request.env.now_ms();
            let requested = head.and_then(|head| retry::requested_delay(&head, now));
            let delay = match requested {
                Some(delay) => retry::allow_delay(delay, None, &error)?,
                None => retry::backoff(retries, 0.5),
            };
            retries += 1;
            tokio::time::sleep(delay).await;
        }
    }

    /// Downloads a file that is not part of the service: without credentials.
    pub(crate) async fn download(&self, url: Url, limit: usize) -> Result<Vec<u8>, ProviderError> {
        let env = self.request.environment();
        let (client, route) = self.http.client_and_route(&url, &env)?;
        let request = client.get(url).header("user-agent", user_agent());
        let exchange = async {
            let response = request.send().await;
            let response = response.map_err(|error| send_error(error, &route))?;
            let status = response.status();
            if !status.is_success() {
                let message = format!("{route} answers with status {status}");
                return Err(ProviderError::protocol(message));
            }
            read_body_within(response, &route, limit).await
        };
        let limit = self.timeout.unwrap_or(DOWNLOAD_TIMEOUT);
        let timed_out = |_| ProviderError::network(format!("no response from {route} in time"));
        tokio::time::timeout(limit, exchange)
            .await
            .map_err(timed_out)?
    }

    async fn attempt(
        &self,
        target: &Url,
        body: &RequestBody,
    ) -> Result<Value, (ProviderError, Option<ResponseHead>)> {
        let exchange = self.exchange(target, body);
        match self.timeout {
            None => exchange.await,
            Some(limit) => tokio::time::timeout(limit, exchange)
                .await
                .unwrap_or_else(|_| {
                    let message = format!("no response within {} ms", limit.as_millis());
                    Err((ProviderError::network(message), None))
                }),
        }
    }

    async fn exchange(
        &self,
        target: &Url,
        body: &RequestBody,
    ) -> Result<Value, (ProviderError, Option<ResponseHead>)> {
        let without_head = |error| (error, None);
        let env = self.request.environment();
        let client = self.http.client_and_route(target, &env);
        let (client, route) = client.map_err(without_head)?;
        let headers = to_header_map(&self.headers(&body.content_type)).map_err(without_head)?;
        let sent = client.post(target.clone()).headers(headers);
        let sent = sent.body(body.bytes.clone()).send().await;
        let response = sent.map_err(|error| without_head(send_error(error, &route)))?;
        let head = response_head(response.status().as_u16(), response.headers());
        let is_success = response.status().is_success();
        let body = match self.max_response {
            Some(limit) if is_success => read_body_within(response, &route, limit).await,
            Some(_) | None => read_body(response, &route).await,
        };
        let body = body.map_err(without_head)?;
        if !is_success {
            let text = String::from_utf8_lossy(&body);
            return Err((response_error(&head, &text), Some(head)));
        }
        serde_json::from_slice(&body).map_err(|error| {
            let message = format!("the response from {route} is not valid JSON: {error}");
            without_head(ProviderError::protocol(message))
        })
    }

    fn headers(&self, content_type: &str) -> HeaderOverrides {
        let mut headers = HeaderOverrides::new();
        set_header(&mut headers, "user-agent", Some(user_agent()));
        set_header(&mut headers, "content-type", Some(content_type.to_owned()));
        let options = &self.request.options;
        if let Some(key) = &options.api_key {
            let key = format!("Bearer {}", key.expose_secret());
            set_header(&mut headers, "authorization", Some(key));
        }
        for (name, value) in options.headers.clone() {
            set_header(&mut headers, &name, value);
        }
        headers
    }

    fn redacted(&self, error: ProviderError) -> ProviderError {
        ProviderError {
            message: self.secrets.redact(error.message),
            ..error
        }
    }
}
