//! Options of a single request, beyond model and transcript.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_env::Env;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    CacheRetention, Message, Model, ThinkingBudgets, ThinkingLevel, ToolChoice, TransportPreference,
};
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: Arc<Model>,
    /// The conversation; system prompt and tools are in its system messages.
    pub messages: Arc<[Message]>,
    pub options: StreamOptions,
    /// Environment variables and clock.
    pub env: Env,
}

impl ModelRequest {
    /// Returns the sampling parameters of OpenAI-compatible requests: the model's, those of the
    /// thinking level, then the caller's.
    pub(crate) fn sampling_params(&self) -> JsonObject {
        let level = self.model.clamp_thinking_level(self.options.reasoning);
        let by_level = self.model.sampling_params_by_thinking_level.as_ref();
        let layers = [
            self.model.sampling_params.as_ref(),
            by_level.and_then(|levels| levels.get(&level)),
            self.options.sampling_params.as_ref(),
        ];
        let mut all = JsonObject::new();
        for layer in layers.into_iter().flatten() {
            all.extend(layer.clone());
        }
        all
    }

    /// Returns the environment with this request's variables applied.
    pub fn environment(&self) -> Env {
        self.env.with_overrides(&self.options.env)
    }

    /// Returns the prompt-cache retention from the options, or from this request's environment.
    pub fn cache_retention(&self) -> CacheRetention {
        self.options.cache_retention.unwrap_or_else(|| {
            let variable = self.environment().var(pi_env::env_vars::CACHE_RETENTION);
            match variable.as_deref() {
                Some("long") => CacheRetention::Long,
                _ => CacheRetention::Short,
            }
        })
    }

    /// Returns whether the caller or the model sets or deletes a header.
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

    /// Returns the caller's and then the model's setting of a header. The first one applies; `None`
    /// deletes the header.
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

/// Request options. All fields have defaults.
#[derive(Clone, Default)]
pub struct StreamOptions {
    /// Cancels the request; the stream then ends with stop reason `aborted`.
    pub cancel: CancellationToken,
    pub api_key: Option<SecretString>,
    /// Headers in addition to the provider's and the model's.
    pub headers: HeaderOverrides,
    /// Provider-scoped environment variables; override the process environment.
    pub env: BTreeMap<String, String>,
    /// Inspects or replaces the request and the response.
    pub hooks: Option<Arc<dyn RequestHooks>>,
    pub timeouts: Timeouts,
    /// Number of retries when the service asks to retry.
    pub max_retries: u32,
    /// Longest `retry-after` delay to honor before the request fails; 0 means no limit.
    pub max_retry_delay: Option<Duration>,
    pub temperature: Option<f64>,
    /// Sampling parameters merged last into the body of OpenAI-compatible requests.
    pub sampling_params: Option<JsonObject>,
    /// Maximum number of output tokens.
    pub max_tokens: Option<u64>,
    /// Preferred transport for APIs with several.
    pub transport: TransportPreference,
    /// Prompt-cache retention; defaults to `PI_CACHE_RETENTION`.
    pub cache_retention: Option<CacheRetention>,
    /// Groups the requests of a session, for caching and routing.
    pub session_id: Option<String>,
    /// Caller metadata; providers use the fields they understand.
    pub metadata: Option<JsonObject>,
    pub tool_choice: Option<ToolChoice>,
    /// Reasoning effort.
    pub reasoning: ThinkingLevel,
    /// Tokens per thinking level, for APIs with token budgets.
    pub thinking_budgets: ThinkingBudgets,
    /// API-specific options, by the API's own names.
    pub provider_options: JsonObject,
}

/// Headers and variables may be secrets, so only harmless fields are shown.
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
    /// Returns the options of a request that writes a summary: these credentials, timeouts and hooks, and the model's
    /// own output limit.
    #[must_use]
    pub fn for_summary(self, cache_retention: CacheRetention, reasoning: ThinkingLevel) -> Self {
        Self {
            max_tokens: None,
            cache_retention: Some(cache_retention),
            reasoning,
            tool_choice: None,
            ..self
        }
    }

    /// Returns an API-specific option by name.
    pub fn provider_option(&self, name: &str) -> Option<&Value> {
        self.provider_options.get(name)
    }

    /// Returns an API-specific option that is a non-empty string.
    pub fn text_option(&self, name: &str) -> Option<&str> {
        self.provider_option(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    /// Returns the tool choice in the format of OpenAI-style APIs: the API-specific option, which
    /// may name a function, or the common option, which is a plain string.
    pub(crate) fn tool_choice_value(&self) -> Option<Value> {
        let own = self.provider_option("toolChoice");
        own.filter(|choice| !choice.is_null()).cloned().or_else(|| {
            let name = match self.tool_choice? {
                ToolChoice::Auto => "auto",
                ToolChoice::None => "none",
            };
            Some(name.into())
        })
    }
}

/// Request timeouts; `None` waits indefinitely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Option<Duration>,
    /// From the request until the response begins.
    pub first_byte: Option<Duration>,
    /// Between two chunks of the response.
    pub idle: Option<Duration>,
    /// WebSocket handshake.
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

/// Inspects or replaces the request and the response.
pub trait RequestHooks: Send + Sync {
    /// May replace the request body.
    fn on_payload<'a>(&'a self, payload: Value, model: &'a Model) -> BoxFuture<'a, Value> {
        let _ = model;
        Box::pin(std::future::ready(payload))
    }

    /// May change the request headers; `None` deletes a header.
    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        let _ = model;
        Box::pin(std::future::ready(headers))
    }

    /// Receives the status and headers of the response before its body is read.
    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        let _ = (response, model);
        Box::pin(std::future::ready(()))
    }

    /// Whether the events of responses are parsed a second time for [`on_stream_event`](Self::on_stream_event).
    fn wants_stream_events(&self) -> bool {
        false
    }

    /// Receives an event of a streamed response as the provider sent it, before it is decoded.
    fn on_stream_event<'a>(&'a self, event: Value, model: &'a Model) -> BoxFuture<'a, ()> {
        let _ = (event, model);
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for dyn RequestHooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RequestHooks")
    }
}

#[cfg(test)]
mod tests {
    use pi_env::env_vars;
    use pi_protocol::api;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::wire::testing;

    #[test]
    fn cache_retention_comes_from_options_then_environment() {
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
        for (retention, variable, expected) in cases {
            let variable =
                variable.map(|value| (env_vars::CACHE_RETENTION.to_owned(), value.to_owned()));
            let options = StreamOptions {
                cache_retention: retention,
                env: variable.into_iter().collect(),
                ..StreamOptions::default()
            };
            let model = testing::model(api::ANTHROPIC_MESSAGES, json!({}));
            let request = testing::request(model, json!([]), options);
            assert_eq!(request.cache_retention(), expected, "{retention:?}");
        }
    }

    #[test]
    fn header_deleted_by_the_caller_is_not_sent() {
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
