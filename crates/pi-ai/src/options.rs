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
    pub options: StreamOptions,
    /// Environment variables and clock.
    pub env: Env,
}

impl ModelRequest {
    /// Returns the environment of this request: its own variables laid over those of the process.
    pub fn environment(&self) -> Env {
        self.env.with_overrides(&self.options.env)
    }

    /// Returns how long the provider shall keep the prompt cached: what the options say, else what
    /// the environment of this request does.
    pub fn cache_retention(&self) -> CacheRetention {
        self.options.cache_retention.unwrap_or_else(|| {
            let variable = self.environment().var(crate::env_vars::CACHE_RETENTION);
            match variable.as_deref() {
                Some("long") => CacheRetention::Long,
                _ => CacheRetention::Short,
            }
        })
    }

    /// Returns whether the caller or the model says anything of a header, be it to delete it.
    pub(crate) fn configures_header(&self, name: &str) -> bool {
        self.header_settings(name).next().is_some()
    }

    /// Returns whether the caller or the model sends one of these headers with a value.
    pub(crate) fn sends_any_header(&self, names: &[&str]) -> bool {
        names.iter().any(|name| {
            self.header_settings(name)
                .next()
                .flatten()
                .is_some_and(|value| !value.trim().is_empty())
        })
    }

    /// Returns what the caller and then the model say of a header: the first one counts, and
    /// `None` deletes the header.
    fn header_settings(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        let by_caller = self.options.headers.iter();
        let by_caller = by_caller.map(|(key, value)| (key, value.as_deref()));
        let by_model = self.model.headers.iter().flatten();
        let by_model = by_model.map(|(key, value)| (key, Some(value.as_str())));
        by_caller
            .chain(by_model)
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
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
    /// Returns an API-specific option by name.
    pub fn provider_option(&self, name: &str) -> Option<&Value> {
        self.provider_options.get(name)
    }

    /// Returns an API-specific option that is a text and not empty.
    pub(crate) fn text_option(&self, name: &str) -> Option<&str> {
        self.provider_option(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    /// Returns the tool choice as the APIs of OpenAI's family write it: the API's own option, which
    /// may name a function, else the common one, which is a word.
    pub(crate) fn tool_choice_value(&self) -> Option<Value> {
        let own = self.provider_option("toolChoice");
        own.filter(|choice| !choice.is_null()).cloned().or_else(|| {
            let word = match self.tool_choice? {
                ToolChoice::Auto => "auto",
                ToolChoice::None => "none",
            };
            Some(word.into())
        })
    }
}

/// Sets a header, replacing one that is spelled with other capitals.
pub(crate) fn set_header(headers: &mut HeaderOverrides, name: &str, value: Option<String>) {
    headers.retain(|other, _| !other.eq_ignore_ascii_case(name));
    headers.insert(name.to_owned(), value);
}

/// Whether tools may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    Auto,
    None,
}

/// How long a provider shall keep the prompt cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// No caching: no ids, no markers.
    None,
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
    pub status: u16,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::env_vars;
    use crate::model::api;
    use crate::wire::testing;

    #[test]
    fn the_options_and_then_the_variables_of_the_request_say_how_long_a_prompt_is_kept() {
        let cases = [
            (None, None, CacheRetention::Short),
            (None, Some("long"), CacheRetention::Long),
            (None, Some("for ever"), CacheRetention::Short),
            (
                Some(CacheRetention::None),
                Some("long"),
                CacheRetention::None,
            ),
        ];
        for (asked, variable, expected) in cases {
            let variable =
                variable.map(|value| (env_vars::CACHE_RETENTION.to_owned(), value.to_owned()));
            let options = StreamOptions {
                cache_retention: asked,
                env: variable.into_iter().collect(),
                ..StreamOptions::default()
            };
            let model = testing::model(api::ANTHROPIC_MESSAGES, json!({}));
            let request = testing::request(model, json!([]), options);
            assert_eq!(request.cache_retention(), expected, "{asked:?}");
        }
    }

    #[test]
    fn a_header_that_the_caller_deletes_is_not_sent_for_the_model() {
        let sends = |by_caller: Option<Option<&str>>, by_model: Option<&str>| {
            let headers = by_model.map_or(json!({}), |value| json!({"X-Key": value}));
            let options = StreamOptions {
                headers: by_caller
                    .map(|value| ("x-KEY".to_owned(), value.map(str::to_owned)))
                    .into_iter()
                    .collect(),
                ..StreamOptions::default()
            };
            let model = testing::model(api::ANTHROPIC_MESSAGES, json!({"headers": headers}));
            let request = testing::request(model, json!([]), options);
            request.sends_any_header(&["other", "x-key"])
        };
        assert!(!sends(None, None));
        assert!(sends(None, Some("1")));
        assert!(sends(Some(Some("2")), None));
        assert!(!sends(Some(Some(" ")), None));
        assert!(!sends(Some(None), Some("1")));
    }
}
