//! What a caller may ask of one request, beyond model and transcript.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::env::Env;
use crate::json::JsonObject;
use crate::message::Message;
use crate::model::Model;
use crate::thinking::{ThinkingBudgets, ThinkingLevel};

/// Headers to add; `None` deletes one that would be sent otherwise.
pub type HeaderOverrides = BTreeMap<String, Option<String>>;

/// One request: a model, a transcript, and how to ask.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model to ask.
    pub model: Arc<Model>,
    /// The conversation; prompt and tools are in its system messages.
    pub messages: Arc<[Message]>,
    /// How to ask.
    pub options: StreamOptions,
    /// Environment variables and clock.
    pub env: Env,
}

impl ModelRequest {
    /// Returns the environment of this request: its own variables laid over those of the process.
    pub fn environment(&self) -> Env {
        self.env.with_overrides(&self.options.env)
    }
}

/// How to ask; every field has a sensible default.
#[derive(Clone, Default)]
pub struct StreamOptions {
    /// Cancels the request; the stream then ends in `aborted`.
    pub cancel: CancellationToken,
    /// The key or token to authenticate with.
    pub api_key: Option<SecretString>,
    /// Headers on top of the provider's and the model's.
    pub headers: HeaderOverrides,
    /// Provider-scoped environment variables; they win over the process environment.
    pub env: BTreeMap<String, String>,
    /// Looks at or replaces what is sent and what comes back.
    pub hooks: Option<Arc<dyn RequestHooks>>,
    /// How long to wait, and for what.
    pub timeouts: Timeouts,
    /// Attempts after the first when the service asks to come back.
    pub max_retries: u32,
    /// The longest wait the service may ask for before the request fails; zero lifts the limit.
    pub max_retry_delay: Option<Duration>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Sampling parameters merged last into the body of OpenAI-compatible requests.
    pub sampling_params: Option<JsonObject>,
    /// The most tokens the answer may have.
    pub max_tokens: Option<u64>,
    /// The preferred transport of APIs that have several.
    pub transport: TransportPreference,
    /// How long the provider shall keep the prompt cached; `PI_CACHE_RETENTION` decides when unset.
    pub cache_retention: Option<CacheRetention>,
    /// Ties requests of one session together, for caching and routing.
    pub session_id: Option<String>,
    /// Data about the caller; providers take what they understand.
    pub metadata: Option<JsonObject>,
    /// Whether tools may be used.
    pub tool_choice: Option<ToolChoice>,
    /// How much to think.
    pub reasoning: ThinkingLevel,
    /// Tokens per thinking level, for APIs that count.
    pub thinking_budgets: ThinkingBudgets,
    /// Options of a single API, by its own names.
    pub provider_options: JsonObject,
}

/// Headers and variables may be secrets, so only what cannot be one is shown.
impl fmt::Debug for StreamOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamOptions")
            .field("reasoning", &self.reasoning)
            .field("max_tokens", &self.max_tokens)
            .field("transport", &self.transport)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl StreamOptions {
    /// Returns the cache retention in force.
    pub fn effective_cache_retention(&self, env: &Env) -> CacheRetention {
        self.cache_retention.unwrap_or_else(|| {
            match env.var(crate::env_vars::CACHE_RETENTION).as_deref() {
                Some("long") => CacheRetention::Long,
                _ => CacheRetention::Short,
            }
        })
    }

    /// Returns an API-specific option by name.
    pub fn provider_option(&self, name: &str) -> Option<&Value> {
        self.provider_options.get(name)
    }
}

/// Whether tools may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tools.
    None,
}

/// How long a provider shall keep the prompt cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// No caching: no ids, no markers.
    None,
    /// Minutes.
    Short,
    /// An hour to a day.
    Long,
}

/// The preferred transport of APIs that have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportPreference {
    /// The API's own choice.
    #[default]
    Auto,
    /// Server-sent events over HTTP.
    Sse,
    /// A WebSocket per request.
    Websocket,
    /// A WebSocket kept open between requests.
    WebsocketCached,
}

/// How long to wait; `None` waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Option<Duration>,
    /// From the request until the answer begins.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer.
    pub idle: Option<Duration>,
    /// For a WebSocket handshake.
    pub websocket_connect: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(30)),
            first_byte: Some(Duration::from_mins(5)),
            idle: Some(Duration::from_mins(5)),
            websocket_connect: Some(Duration::from_secs(15)),
        }
    }
}

/// Looks at or replaces what is sent and what comes back.
pub trait RequestHooks: Send + Sync {
    /// May replace the request body.
    fn on_payload<'a>(&'a self, payload: Value, model: &'a Model) -> BoxFuture<'a, Value> {
        let _ = model;
        Box::pin(std::future::ready(payload))
    }

    /// May change the request headers; `None` deletes one.
    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        let _ = model;
        Box::pin(std::future::ready(headers))
    }

    /// Sees status and headers of the response before its body is read.
    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        let _ = (response, model);
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for dyn RequestHooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RequestHooks")
    }
}

/// Status and headers of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The HTTP status.
    pub status: u16,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
}
