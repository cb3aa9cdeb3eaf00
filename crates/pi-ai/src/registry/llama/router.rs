//! llama.cpp's router: which models a server has, and loading, unloading and downloading them.
//!
//! The list is the truth; the server's events only make waiting livelier, and may be missing.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Method, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{PROVIDER, server_address};
use crate::credentials::AuthOverrides;
use crate::env::Env;
use crate::env_vars;
use crate::error::{ErrorClass, ProviderError};
use crate::registry::Models;
use crate::transport::sse::SseParser;
use crate::transport::{HttpClient, Route, read_body, send_error, user_agent};

/// How long the server may take to answer; loading and downloading go on behind an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// How often the list is asked for while a model loads, unloads or is downloaded.
const POLL: Duration = Duration::from_millis(250);

/// A llama.cpp server in router mode.
#[derive(Clone)]
pub struct LlamaRouter {
    address: String,
    key: Option<SecretString>,
    http: HttpClient,
    env: Env,
}

/// A model of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LlamaModel {
    pub id: String,
    /// What it is doing.
    pub state: LlamaState,
    /// How many tokens a conversation may have, where the server says so.
    pub context: Option<u64>,
    /// The exit code of a load that failed.
    pub exit_code: Option<i64>,
}

/// What a model of a router is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LlamaState {
    Loaded,
    /// It answers requests after it has woken up.
    Sleeping,
    /// It takes no memory.
    Unloaded,
    /// Its last load failed.
    Failed,
    /// It is on its way into memory.
    Loading,
    /// It is on its way onto the disk.
    Downloading,
    /// Something this version does not know.
    Other(String),
}

/// How far a load or a download is.
#[derive(Debug, Clone, PartialEq)]
pub struct LlamaProgress {
    /// What the server does.
    pub message: String,
    /// How much of it is done, from 0 to 1, where the server says so.
    pub share: Option<f64>,
}

impl LlamaState {
    /// Returns whether the model takes memory.
    pub fn is_in_memory(&self) -> bool {
        matches!(self, Self::Loaded | Self::Sleeping)
    }

    /// Returns the word for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Loaded => "loaded",
            Self::Sleeping => "sleeping",
            Self::Unloaded => "not loaded",
            Self::Failed => "failed to load",
            Self::Loading => "loading",
            Self::Downloading => "downloading",
            Self::Other(word) => word,
        }
    }
}

impl Models {
    /// Returns the router that a stored credential or the environment names; none if none does.
    pub async fn llama_router(&self) -> Result<Option<LlamaRouter>, ProviderError> {
        let Some(auth) = self.provider(PROVIDER).and_then(|provider| provider.auth()) else {
            return Ok(None);
        };
        let (http, env) = self.connections();
        let resolved = self
            .authenticator()
            .resolve(&auth, env, &AuthOverrides::default())
            .await
            .map_err(|error| ProviderError::auth(error.to_string()))?;
        let Some(resolved) = resolved else {
            return Ok(None);
        };
        let written = resolved.env.get(env_vars::LLAMA_BASE_URL).cloned();
        let Some(written) = written.or_else(|| env.var(env_vars::LLAMA_BASE_URL)) else {
            return Ok(None);
        };
        Ok(Some(LlamaRouter {
            address: server_address(&written)?,
            key: resolved.api_key,
            http: http.clone(),
            env: env.clone(),
        }))
    }
}

impl LlamaRouter {
    /// Returns the server's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks which models there are.
    pub async fn models(&self) -> Result<Vec<LlamaModel>, ProviderError> {
        self.listed("/models").await
    }

    /// Loads a model and waits until it can be used.
    pub async fn load(
        &self,
        model: &str,
        on_progress: impl Fn(LlamaProgress),
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let work = async {
            let mut events = self.events().await;
            self.post("/models/load", model).await?;
            on_progress(LlamaProgress::of("Loading the model"));
            loop {
                let listed = self.state_of(model).await?;
                match listed.as_ref().map(|listed| &listed.state) {
                    Some(LlamaState::Loaded | LlamaState::Sleeping) => return Ok(()),
                    Some(LlamaState::Failed) => return Err(load_failed(listed.as_ref())),
                    _ => {}
                }
                if let Some(event) = events.next_or(POLL).await
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
        or_cancelled(work, cancel).await
    }

    /// Unloads a model and waits until its memory is free.
    pub async fn unload(
        &self,
        model: &str,
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let work = async {
            self.post("/models/unload", model).await?;
            while let Some(listed) = self.state_of(model).await?
                && !matches!(listed.state, LlamaState::Unloaded | LlamaState::Failed)
            {
                tokio::time::sleep(POLL).await;
            }
            Ok(())
        };
        or_cancelled(work, cancel).await
    }

    /// Has the server download a model, named `owner/repository[:quantization]`, and waits.
    pub async fn download(
        &self,
        model: &str,
        on_progress: impl Fn(LlamaProgress),
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let work = async {
            let mut events = self.events().await;
            self.post("/models", model).await?;
            on_progress(LlamaProgress::of("Downloading the model"));
            let mut polls = 0;
            let (mut begun, mut finished) = (false, false);
            loop {
                let listed = self.state_of(model).await?;
                polls += 1;
                match listed.map(|listed| listed.state) {
                    Some(LlamaState::Downloading) => begun = true,
                    Some(_) if finished || begun || polls > 2 => break,
                    None if finished => break,
                    Some(_) | None => {}
                }
                let Some(event) = events.next_or(POLL).await else {
                    continue;
                };
                if event.model != model {
                    continue;
                }
                match event.kind.as_str() {
                    "download_finished" => finished = true,
                    "download_failed" => {
                        let said = error_message(&event.data);
                        return Err(ProviderError::invalid(
                            said.unwrap_or_else(|| "the download failed".to_owned()),
                        ));
                    }
                    "download_progress" => {
                        begun = true;
                        if let Some(progress) = download_progress(&event.data) {
                            on_progress(progress);
                        }
                    }
                    _ => {}
                }
            }
            // The server looks at its folders again.
            self.listed("/models?reload=1").await.map(drop)
        };
        or_cancelled(work, cancel).await
    }

    /// Has the server stop loading or downloading a model, without waiting.
    pub async fn give_up(&self, model: &str) -> Result<(), ProviderError> {
        self.post("/models/unload", model).await
    }

    async fn state_of(&self, model: &str) -> Result<Option<LlamaModel>, ProviderError> {
        let models = self.models().await?;
        Ok(models.into_iter().find(|listed| listed.id == model))
    }

    async fn listed(&self, path: &str) -> Result<Vec<LlamaModel>, ProviderError> {
        let answer = self.ask(Method::GET, path, None).await?;
        let data = answer.get("data").and_then(Value::as_array);
        let Some(data) = data else {
            return Err(ProviderError::protocol(format!(
                "{} does not list models as llama.cpp does",
                self.address
            )));
        };
        let models: Option<Vec<LlamaModel>> = data.iter().map(LlamaModel::read).collect();
        models.ok_or_else(|| {
            ProviderError::invalid(format!(
                "{} is not in router mode; start llama-server without --model, -m and -hf",
                self.address
            ))
        })
    }

    async fn post(&self, path: &str, model: &str) -> Result<(), ProviderError> {
        let body = json!({ "model": model });
        self.ask(Method::POST, path, Some(body)).await.map(drop)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, ProviderError> {
        let asked = async {
            let (response, route) = self.send(method, path, body).await?;
            let status = response.status();
            let body = read_body(response, &route).await?;
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            if status.is_success() {
                return Ok(answer);
            }
            let said = error_message(&answer);
            let said = said.unwrap_or_else(|| format!("the server answered with status {status}"));
            let class = match status.as_u16() {
                401 | 403 => ErrorClass::Auth,
                _ => ErrorClass::InvalidRequest,
            };
            Err(ProviderError::new(class, said).with_status(status.as_u16()))
        };
        let limited = tokio::time::timeout(ANSWER_LIMIT, asked).await;
        limited.unwrap_or_else(|_| {
            Err(ProviderError::network(format!(
                "{} did not answer within {} s",
                self.address,
                ANSWER_LIMIT.as_secs()
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
            .map_err(|error| ProviderError::invalid(format!("{url} is no address: {error}")))?;
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

    /// Listens to the server; without its events there is only the list.
    async fn events(&self) -> Events {
        let asked = self.send(Method::GET, "/models/sse", None);
        let response = match tokio::time::timeout(ANSWER_LIMIT, asked).await {
            Ok(Ok((response, _route))) if response.status().is_success() => Some(response),
            Ok(_) | Err(_) => None,
        };
        Events {
            response,
            parser: SseParser::new(),
            waiting: VecDeque::new(),
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

impl LlamaProgress {
    fn of(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            share: None,
        }
    }
}

impl LlamaModel {
    /// Reads an entry of the list; none if it is not one of a router.
    fn read(entry: &Value) -> Option<Self> {
        let id = entry.get("id")?.as_str()?.to_owned();
        let status = entry.get("status")?;
        let word = status.get("value")?.as_str()?;
        let failed = status.get("failed").and_then(Value::as_bool) == Some(true);
        let state = match word {
            "unloaded" if failed => LlamaState::Failed,
            "loaded" => LlamaState::Loaded,
            "sleeping" => LlamaState::Sleeping,
            "unloaded" => LlamaState::Unloaded,
            "loading" => LlamaState::Loading,
            "downloading" => LlamaState::Downloading,
            other => LlamaState::Other(other.to_owned()),
        };
        let number = |name: &str| entry.get("meta")?.get(name)?.as_u64().filter(|it| *it > 0);
        Some(Self {
            id,
            state,
            context: number("n_ctx")
                .or_else(|| number("n_ctx_train"))
                .or_else(|| told(status)),
            exit_code: status.get("exit_code").and_then(Value::as_i64),
        })
    }
}

/// Returns the length of a conversation that the server's arguments name.
fn told(status: &Value) -> Option<u64> {
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
        Some(code) => format!("the model did not load: its process ended with code {code}"),
        None => "the model did not load; the server's log says why".to_owned(),
    })
}

fn error_message(answer: &Value) -> Option<String> {
    let message = answer.get("error")?.get("message")?.as_str()?;
    (!message.is_empty()).then(|| message.to_owned())
}

/// Reads `{"progress": {"current": stage, "stages": [...], "value": share}}`.
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
    let within = within.map(|share| share.clamp(0.0, 1.0));
    let place = stages.iter().position(|known| Some(*known) == stage);
    #[expect(clippy::cast_precision_loss, reason = "a handful of stages")]
    let share = match place {
        Some(place) => Some((place as f64 + within.unwrap_or(0.0)) / stages.len() as f64),
        None => within,
    };
    Some(LlamaProgress {
        message: match stage {
            Some(stage) => format!("Loading {}", stage.replace('_', " ")),
            None => "Loading the model".to_owned(),
        },
        share,
    })
}

/// Adds up what is done of each file.
fn download_progress(data: &Value) -> Option<LlamaProgress> {
    let files = match data.get("progress") {
        Some(Value::Object(files)) => files,
        _ => data.as_object()?,
    };
    let (mut done, mut total) = (0.0, 0.0);
    for file in files.values() {
        let number = |name: &str| file.get(name).and_then(Value::as_f64);
        if let (Some(part), Some(whole)) = (number("done"), number("total")) {
            done += part;
            total += whole;
        }
    }
    (total > 0.0).then(|| LlamaProgress {
        message: format!(
            "Downloading the model: {:.0} of {:.0} MiB",
            done / MIB,
            total / MIB
        ),
        share: Some((done / total).clamp(0.0, 1.0)),
    })
}

const MIB: f64 = 1024.0 * 1024.0;

async fn or_cancelled(
    work: impl Future<Output = Result<(), ProviderError>>,
    cancel: &CancellationToken,
) -> Result<(), ProviderError> {
    let outcome = cancel.run_until_cancelled(work).await;
    outcome.unwrap_or_else(|| Err(ProviderError::aborted()))
}

/// What the server tells of a model.
#[derive(Deserialize)]
struct Event {
    model: String,
    #[serde(rename = "event")]
    kind: String,
    #[serde(default)]
    data: Value,
}

/// The server's events, as long as they come.
struct Events {
    response: Option<Response>,
    parser: SseParser,
    waiting: VecDeque<Event>,
}

impl Events {
    /// Returns the next event, or nothing if none comes in time.
    async fn next_or(&mut self, limit: Duration) -> Option<Event> {
        let deadline = tokio::time::Instant::now() + limit;
        while self.waiting.is_empty() {
            let Some(response) = &mut self.response else {
                tokio::time::sleep_until(deadline).await;
                return None;
            };
            match tokio::time::timeout_at(deadline, response.chunk()).await {
                Err(_) => return None,
                Ok(Ok(Some(bytes))) => self.take(&bytes),
                Ok(Ok(None) | Err(_)) => self.response = None,
            }
        }
        self.waiting.pop_front()
    }

    fn take(&mut self, bytes: &[u8]) {
        let waiting = &mut self.waiting;
        let read = self.parser.push(bytes, |event| {
            // What is no event of a model is not for us.
            if let Ok(event) = serde_json::from_str(event.data) {
                waiting.push_back(event);
            }
            Ok(())
        });
        if read.is_err() {
            self.response = None;
        }
    }
}

#[cfg(test)]
mod tests;
