//! Model calls of extensions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use pi_ext::HostError;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::json::JsonObject;
use pi_protocol::transcript::initial_system_message;
use pi_protocol::{CacheRetention, Message, Model, ThinkingBudgets, ThinkingLevel, Tool};
use pi_providers::{Models, RequestHooks, ResolvedRoute, RouteQuery, StreamOptions, route_request};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use super::Caller;
use crate::callbacks::{ModelEvents, RequestPayload, ResponseStart};
use crate::calls::Pending;
use crate::jobs::JobCallback;

/// Events sent to JavaScript in one batch if they arrive faster than it reads them.
const EVENT_BATCH: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelCall {
    number: u64,
    model: Model,
    #[serde(default)]
    context: ModelCallContext,
    #[serde(default)]
    options: ModelCallOptions,
    /// Whether to use the built-in wire protocol instead of an extension's provider.
    #[serde(default)]
    on_wire: bool,
    #[serde(default)]
    hooks: WantedHooks,
}

/// Which functions the caller has for the request and the response.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct WantedHooks {
    payload: bool,
    response: bool,
}

/// Passes the request and the start of the response to the extension.
struct CallerHooks {
    wanted: WantedHooks,
    callback: JobCallback,
}

impl RequestHooks for CallerHooks {
    fn on_payload<'a>(&'a self, payload: Value, _model: &'a Model) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            if !self.wanted.payload {
                return payload;
            }
            match self.callback.run(&RequestPayload(&payload)).await {
                Ok(Value::Null) => payload,
                Ok(replaced) => replaced,
                Err(error) => {
                    tracing::warn!(%error, "cannot pass the request to the extension");
                    payload
                }
            }
        })
    }

    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        _model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // As for session hooks: an HTTP error is an error of the request.
            if !self.wanted.response || response.status >= 400 {
                return;
            }
            let start = ResponseStart {
                status: response.status,
                headers: &response.headers,
            };
            if let Err(error) = self.callback.run(&start).await {
                tracing::warn!(%error, "cannot pass the response to the extension");
            }
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ModelCallContext {
    system_prompt: Option<String>,
    messages: Vec<Message>,
    tools: Option<Vec<Tool>>,
}

impl ModelCallContext {
    /// Returns the messages, with system prompt and tools in the first one.
    fn into_messages(self) -> Vec<Message> {
        let prompt = self.system_prompt.unwrap_or_default();
        let head = initial_system_message(&prompt, self.tools.unwrap_or_default());
        let head = head.map(Message::from).into_iter();
        head.chain(self.messages).collect()
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ModelCallOptions {
    api_key: Option<String>,
    headers: Option<HeaderOverrides>,
    env: BTreeMap<String, String>,
    reasoning: Option<ThinkingLevel>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    session_id: Option<String>,
    metadata: Option<JsonObject>,
    cache_retention: Option<CacheRetention>,
    thinking_budgets: Option<ThinkingBudgets>,
    max_retries: Option<u32>,
    /// In milliseconds.
    max_retry_delay_ms: Option<u64>,
    /// Options of a specific API, by its own names.
    #[serde(flatten)]
    others: JsonObject,
}

impl From<ModelCallOptions> for StreamOptions {
    fn from(options: ModelCallOptions) -> Self {
        Self {
            api_key: options.api_key.map(SecretString::from),
            headers: options.headers.unwrap_or_default(),
            env: options.env,
            reasoning: options.reasoning.unwrap_or(ThinkingLevel::Off),
            max_tokens: options.max_tokens,
            temperature: options.temperature,
            session_id: options.session_id,
            metadata: options.metadata,
            cache_retention: options.cache_retention,
            thinking_budgets: options.thinking_budgets.unwrap_or_default(),
            max_retries: options.max_retries.unwrap_or_default(),
            max_retry_delay: options.max_retry_delay_ms.map(Duration::from_millis),
            provider_options: options.others,
            ..Self::default()
        }
    }
}

impl Caller<'_> {
    /// Calls a model; streams its events to JavaScript and returns the complete response at the
    /// end.
    pub(super) fn stream_model(&self, call: ModelCall) -> Result<Pending<Message>, HostError> {
        let callback = self.bridge.callback(self.extension, call.number)?;
        let job = self.bridge.start_job(call.number)?;
        let hooks = CallerHooks {
            wanted: call.hooks,
            callback: callback.clone(),
        };
        let is_hooked = call.hooks.payload || call.hooks.response;
        let options = StreamOptions {
            cancel: job.cancel(),
            hooks: is_hooked.then(|| Arc::new(hooks) as _),
            ..call.options.into()
        };
        let messages = call.context.into_messages();
        let models = self.bridge.models.clone();
        Ok(self.bridge.spawn_on_runtime(async move {
            // Kept open while the response streams.
            let _job = job;
            let mut model = Arc::new(call.model);
            let mut options = options;
            if model.is_virtual() {
                let route = route_call(&models, &model, &messages, &options).await?;
                options = routed_options(options, &model, &route);
                model = route.model;
            }
            let stream = if call.on_wire {
                models.stream_with_wire_api(&model, messages, options)
            } else {
                models.stream(&model, messages, options)
            };
            let live = stream.live();
            let mut batches = stream.ready_chunks(EVENT_BATCH);
            while let Some(batch) = batches.next().await {
                if let Err(error) = callback.run(&ModelEvents(batch)).await {
                    tracing::debug!(%error, "cannot forward model events to extension");
                }
            }
            Ok(Message::from(live.snapshot()))
        }))
    }
}

/// Chooses the model of a call to a virtual model.
async fn route_call(
    models: &Models,
    model: &Arc<Model>,
    messages: &[Message],
    options: &StreamOptions,
) -> Result<ResolvedRoute, HostError> {
    let query = RouteQuery::direct(options.reasoning, options.cancel.clone());
    let routed = route_request(models, model, messages.to_vec(), query).await;
    routed.map_err(|error| HostError::new(error.to_string()))
}

/// Adapts the options to the chosen model. Credentials for another provider are not sent to it.
fn routed_options(
    options: StreamOptions,
    selected: &Model,
    route: &ResolvedRoute,
) -> StreamOptions {
    let limit = Some(route.model.max_tokens).filter(|limit| *limit > 0);
    let routed = StreamOptions {
        reasoning: route.thinking_level,
        max_tokens: options
            .max_tokens
            .map(|tokens| limit.map_or(tokens, |limit| tokens.min(limit))),
        ..options
    };
    if route.model.provider == selected.provider {
        return routed;
    }
    StreamOptions {
        api_key: None,
        headers: HeaderOverrides::default(),
        env: BTreeMap::new(),
        ..routed
    }
}
