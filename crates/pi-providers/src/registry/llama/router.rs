//! llama.cpp's router: lists, loads, unloads and downloads a server's models.
//!
//! The polled model list is authoritative; the server's events only improve progress reporting and
//! may be missing.

use std::collections::VecDeque;
use std::time::Duration;

use pi_auth::AuthOverrides;
use pi_env::{Env, env_vars};
use pi_http::{HttpClient, Route, SseParser, read_body, send_error, user_agent};
use pi_protocol::{ErrorClass, LlamaModel, LlamaProgress, LlamaState, ProviderError};
use reqwest::{Method, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{PROVIDER, parse_server_url};
use crate::registry::Models;

/// Response timeout. Loading and downloading continue after the response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// Poll interval while a model loads, unloads or downloads.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub struct LlamaRouter {
    address: String,
    key: Option<SecretString>,
    http: HttpClient,
    env: Env,
}

impl Models {
    /// Returns the router that a stored credential or the environment specifies, if any.
    pub async fn llama_router(&self) -> Result<Option<LlamaRouter>, ProviderError> {
        let Some(auth) = self.provider(PROVIDER).and_then(|provider| provider.auth()) else {
            return Ok(None);
        };
        let (http, env) = (self.http(), self.env());
        let resolved = self
            .authenticator()
            .resolve(&auth, env, &AuthOverrides::default())
            .await
            .map_err(|error| ProviderError::auth(error.to_string()))?;
        let Some(resolved) = resolved else {
            return Ok(None);
        };
        let input = resolved.env.get(env_vars::LLAMA_BASE_URL).cloned();
        let Some(input) = input.or_else(|| env.var(env_vars::LLAMA_BASE_URL)) else {
            return Ok(None);
        };
        Ok(Some(LlamaRouter {
            address: parse_server_url(&input)?,
            key: resolved.api_key,
            http: http.clone(),
            env: env.clone(),
        }))
    }
}

impl LlamaRouter {
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Lists the server's models.
    pub async fn models(&self) -> Result<Vec<LlamaModel>, ProviderError> {
        self.list_models("/models").await
    }

    /// Loads a model and waits until it is ready.
    pub async fn load(
        &self,
        model: &str,
        on_progress: impl Fn(LlamaProgress),
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let operation = async {
            let mut events = self.events().await;
            self.post("/models/load", model).await?;
            on_progress(LlamaProgress::new("Loading model"));
            loop {
                let listed = self.state_of(model).await?;
                match listed.as_ref().map(|listed| &listed.state) {
                    Some(LlamaState::Loaded | LlamaState::Sleeping) => return Ok(()),
                    Some(LlamaState::Failed) => return Err(load_failed(listed.as_ref())),
                    _ => {}
                }
                if let Some(event) = events.next_within(POLL_INTERVAL).await
                    && event.model == model
                {
                    let status = event.data.get("status").and_then(Value::as_str);
                    if status == Some("unloaded") {
                        return Err(load_failed(self.state_of(model).await?.as_ref()));
                    }
                    if let Some(progress) = load_progress(&event.data) {
                        on_progress(progress);
                    }
                }
            }
        };
        run_or_cancel(operation, cancel).await
    }

    /// Unloads a model and waits until its memory is free.
    pub async fn unload(
        &self,
        model: &str,
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let operation = async {
            self.post("/models/unload", model).await?;
            while let Some(listed) = self.state_of(model).await?
                && !matches!(listed.state, LlamaState::Unloaded | LlamaState::Failed)
            {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            Ok(())
        };
        run_or_cancel(operation, cancel).await
    }

    /// Downloads a model, given as `owner/repository[:quantization]`, to the server and waits for
    /// completion.
    pub async fn download(
        &self,
        model: &str,
        on_progress: impl Fn(LlamaProgress),
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let operation = async {
            let mut events = self.events().await;
            self.post("/models", model).await?;
            on_progress(LlamaProgress::new("Downloading model"));
            let mut polls = 0;
            let (mut started, mut finished) = (false, false);
            loop {
                let listed = self.state_of(model).await?;
                polls += 1;
                match listed.map(|listed| listed.state) {
                    Some(LlamaState::Downloading) => started = true,
                    Some(_) if finished || started || polls > 2 => break,
                    None if finished => break,
                    Some(_) | None => {}
                }
                let Some(event) = events.next_within(POLL_INTERVAL).await else {
                    continue;
                };
                if event.model != model {
                    continue;
                }
                match event.kind.as_str() {
                    "download_finished" => finished = true,
                    "download_failed" => {
                        let message = error_message(&event.data);
                        return Err(ProviderError::invalid(
                            message.unwrap_or_else(|| "download failed".to_owned()),
                        ));
                    }
                    "download_progress" => {
                        started = true;
                        if let Some(progress) = download_progress(&event.data) {
                            on_progress(progress);
                        }
                    }
                    _ => {}
                }
            }
            // Make the server rescan its model directories.
            self.list_models("/models?reload=1").await.map(drop)
        };
        run_or_cancel(operation, cancel).await
    }

    /// Cancels the load or download of a model, without waiting.
    pub async fn cancel(&self, model: &str) -> Result<(), ProviderError> {
        self.post("/models/unload", model).await
    }

    async fn state_of(&self, model: &str) -> Result<Option<LlamaModel>, ProviderError> {
        let models = self.models().await?;
        Ok(models.into_iter().find(|listed| listed.id == model))
    }

    async fn list_models(&self, path: &str) -> Result<Vec<LlamaModel>, ProviderError> {
        let reply = self.call(Method::GET, path, None).await?;
        let data = reply.get("data").and_then(Value::as_array);
        let Some(data) = data else {
            return Err(ProviderError::protocol(format!(
                "{} does not have a llama.cpp model list",
                self.address
            )));
        };
        let models: Option<Vec<LlamaModel>> = data.iter().map(parse_model).collect();
        models.ok_or_else(|| {
            ProviderError::invalid(format!(
                "{} is not in router mode; start llama-server without --model, -m or -hf",
                self.address
            ))
        })
    }

    async fn post(&self, path: &str, model: &str) -> Result<(), ProviderError> {
        let body = json!({ "model": model });
        self.call(Method::POST, path, Some(body)).await.map(drop)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, ProviderError> {
        let request = async {
            let (response, route) = self.send(method, path, body).await?;
            let status = response.status();
            let body = read_body(response, &route).await?;
            let reply: Value = serde_json::from_slice(&body).unwrap_or_default();
            if status.is_success() {
                return Ok(reply);
            }
            let message = error_message(&reply);
            let message =
                message.unwrap_or_else(|| format!("the server responded with HTTP {status}"));
            let class = match status.as_u16() {
                401 | 403 => ErrorClass::Auth,
                _ => ErrorClass::InvalidRequest,
            };
            Err(ProviderError::new(class, message).with_status(status.as_u16()))
        };
        let limited = tokio::time::timeout(RESPONSE_TIMEOUT, request).await;
        limited.unwrap_or_else(|_| {
            Err(ProviderError::network(format!(
                "{} did not respond within {} s",
                self.address,
                RESPONSE_TIMEOUT.as_secs()
            )))
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(Response, Route), ProviderError> {
        let url = format!("{}{path}", self.address);
        let target = Url::parse(&url)
            .map_err(|error| ProviderError::invalid(format!("invalid URL {url}: {error}")))?;
        let (client, route) = self.http.client_and_route(&target, &self.env)?;
        let mut request = client
            .request(method, target)
            .header("user-agent", user_agent());
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose_secret());
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        match request.send().await {
            Ok(response) => Ok((response, route)),
            Err(error) => Err(send_error(error, &route)),
        }
    }

    /// Subscribes to the server's events. If that fails, only the list is polled.
    async fn events(&self) -> RouterEvents {
        let request = self.send(Method::GET, "/models/sse", None);
        let response = match tokio::time::timeout(RESPONSE_TIMEOUT, request).await {
            Ok(Ok((response, _route))) if response.status().is_success() => Some(response),
            Ok(_) | Err(_) => None,
        };
        RouterEvents {
            response,
            parser: SseParser::new(),
            pending: VecDeque::new(),
        }
    }
}

impl std::fmt::Debug for LlamaRouter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LlamaRouter")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Parses an entry of the model list; `None` if it is not from a router.
fn parse_model(entry: &Value) -> Option<LlamaModel> {
    let id = entry.get("id")?.as_str()?.to_owned();
    let status = entry.get("status")?;
    let value = status.get("value")?.as_str()?;
    let failed = status.get("failed").and_then(Value::as_bool) == Some(true);
    let state = match value {
        "unloaded" if failed => LlamaState::Failed,
        "loaded" => LlamaState::Loaded,
        "sleeping" => LlamaState::Sleeping,
        "unloaded" => LlamaState::Unloaded,
        "loading" => LlamaState::Loading,
        "downloading" => LlamaState::Downloading,
        other => LlamaState::Other(other.to_owned()),
    };
    let number = |name: &str| entry.get("meta")?.get(name)?.as_u64().filter(|it| *it > 0);
    Some(LlamaModel {
        id,
        state,
        context: number("n_ctx")
            .or_else(|| number("n_ctx_train"))
            .or_else(|| context_from_args(status)),
        exit_code: status.get("exit_code").and_then(Value::as_i64),
    })
}

/// Returns the context window from the server's command-line arguments.
fn context_from_args(status: &Value) -> Option<u64> {
    let arguments: Vec<&str> = status
        .get("args")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let named = arguments
        .windows(2)
        .find(|pair| matches!(pair.first(), Some(&("--ctx-size" | "-c" | "-ctx"))))?;
    named.last()?.parse().ok().filter(|length| *length > 0)
}

fn load_failed(listed: Option<&LlamaModel>) -> ProviderError {
    let code = listed.and_then(|listed| listed.exit_code);
    ProviderError::invalid(match code {
        Some(code) => format!("the model failed to load: its process exited with code {code}"),
        None => "the model failed to load; see the server's log".to_owned(),
    })
}

fn error_message(reply: &Value) -> Option<String> {
    let message = reply.get("error")?.get("message")?.as_str()?;
    (!message.is_empty()).then(|| message.to_owned())
}

/// Parses `{"progress": {"current": stage, "stages": [...], "value": fraction}}`.
fn load_progress(data: &Value) -> Option<LlamaProgress> {
    let progress = data.get("progress")?.as_object()?;
    let stage = progress.get("current").or_else(|| progress.get("stage"));
    let stage = stage.and_then(Value::as_str);
    let stages: Vec<&str> = progress
        .get("stages")
        .and_then(Value::as_array)
        .map(|stages| stages.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let within = progress.get("value").and_then(Value::as_f64);
    let within = within.map(|fraction| fraction.clamp(0.0, 1.0));
    let index = stages.iter().position(|known| Some(*known) == stage);
    #[expect(clippy::cast_precision_loss, reason = "a handful of stages")]
    let fraction = match index {
        Some(index) => Some((index as f64 + within.unwrap_or(0.0)) / stages.len() as f64),
        None => within,
    };
    Some(LlamaProgress {
        message: match stage {
            Some(stage) => format!("Loading {}", stage.replace('_', " ")),
            None => "Loading model".to_owned(),
        },
        fraction,
    })
}

/// Sums up the progress of all files.
fn download_progress(data: &Value) -> Option<LlamaProgress> {
    let files = match data.get("progress") {
        Some(Value::Object(files)) => files,
        _ => data.as_object()?,
    };
    let (mut done, mut total) = (0.0, 0.0);
    for file in files.values() {
        let number = |name: &str| file.get(name).and_then(Value::as_f64);
        if let (Some(part), Some(file_total)) = (number("done"), number("total")) {
            done += part;
            total += file_total;
        }
    }
    (total > 0.0).then(|| LlamaProgress {
        message: format!(
            "Downloading model: {:.0} of {:.0} MiB",
            done / MIB,
            total / MIB
        ),
        fraction: Some((done / total).clamp(0.0, 1.0)),
    })
}

const MIB: f64 = 1024.0 * 1024.0;

async fn run_or_cancel(
    operation: impl Future<Output = Result<(), ProviderError>>,
    cancel: &CancellationToken,
) -> Result<(), ProviderError> {
    let outcome = cancel.run_until_cancelled(operation).await;
    outcome.unwrap_or_else(|| Err(ProviderError::aborted()))
}

/// A server event about a model.
#[derive(Deserialize)]
struct RouterEvent {
    model: String,
    #[serde(rename = "event")]
    kind: String,
    #[serde(default)]
    data: Value,
}

/// The server's event stream; ends silently if the connection breaks.
struct RouterEvents {
    response: Option<Response>,
    parser: SseParser,
    pending: VecDeque<RouterEvent>,
}

impl RouterEvents {
    /// Returns the next event, or `None` if none arrives within `limit`.
    async fn next_within(&mut self, limit: Duration) -> Option<RouterEvent> {
        let deadline = tokio::time::Instant::now() + limit;
        while self.pending.is_empty() {
            let Some(response) = &mut self.response else {
                tokio::time::sleep_until(deadline).await;
                return None;
            };
            match tokio::time::timeout_at(deadline, response.chunk()).await {
                Err(_) => return None,
                Ok(Ok(Some(bytes))) => self.push_bytes(&bytes),
                Ok(Ok(None) | Err(_)) => self.response = None,
            }
        }
        self.pending.pop_front()
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        let pending = &mut self.pending;
        let parsed = self.parser.push(bytes, |event| {
            // Ignore everything that is not a model event.
            if let Ok(event) = serde_json::from_str(event.data) {
                pending.push_back(event);
            }
            Ok(())
        });
        if parsed.is_err() {
            self.response = None;
        }
    }
}

#[cfg(test)]
mod tests;
