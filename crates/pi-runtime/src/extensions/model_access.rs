//! Model calls of extensions, and the credentials they use.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use pi_auth::{AuthKind, AuthOverrides};
use pi_ext::{HostError, HostFuture};
use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::transcript::initial_system_message;
use pi_protocol::{Message, Model, ThinkingLevel, Tool};
use pi_providers::StreamOptions;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bridge::{ExtensionBridge, field, host_error, read};

/// Events sent to JavaScript in one batch if they arrive faster than it reads them.
const EVENT_BATCH: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelCall {
    number: u64,
    model: Model,
    #[serde(default)]
    context: ModelCallContext,
    #[serde(default)]
    options: ModelCallOptions,
    /// Whether to use the built-in wire protocol instead of an extension's provider.
    #[serde(default)]
    on_wire: bool,
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
            provider_options: options.others,
            ..Self::default()
        }
    }
}

impl ExtensionBridge {
    /// Calls a model; streams its events to JavaScript and returns the complete response at the
    /// end.
    pub(super) fn call_model(
        &self,
        extension: Option<&str>,
        arguments: Value,
    ) -> Result<HostFuture, HostError> {
        let question: ModelCall = read(arguments)?;
        let callback = self.callback(extension, question.number)?;
        let work = self.start_job(question.number)?;
        let options = StreamOptions {
            cancel: work.cancel(),
            ..question.options.into()
        };
        let messages = question.context.into_messages();
        let models = self.models.clone();
        Ok(self.spawn_on_runtime(async move {
            // Kept open while the response streams.
            let _work = work;
            let model = Arc::new(question.model);
            let stream = if question.on_wire {
                models.stream_with_wire_api(&model, messages, options)
            } else {
                models.stream(&model, messages, options)
            };
            let live = stream.live();
            let mut events = stream.ready_chunks(EVENT_BATCH);
            while let Some(batch) = events.next().await {
                let batch = serde_json::to_value(batch).map_err(host_error)?;
                if let Err(error) = callback.call("events", batch, None).await {
                    tracing::debug!(%error, "cannot forward model events to extension");
                }
            }
            serde_json::to_value(Message::from(live.snapshot())).map_err(host_error)
        }))
    }

    /// Returns the credentials of a request to a model.
    pub(super) fn model_auth(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let provider: String = field(arguments, "provider")?;
        let id: Option<String> = field(arguments, "id")?;
        let (models, env) = (self.models.clone(), self.env.clone());
        Ok(self.spawn_on_runtime(async move {
            let Some(known) = models.provider(&provider) else {
                return Ok(
                    json!({ "ok": false, "error": format!("unknown provider: {provider}") }),
                );
            };
            let model = id.and_then(|id| models.model(&provider, &id));
            let own = model.as_ref().and_then(|model| model.headers.clone());
            let own = own
                .into_iter()
                .flatten()
                .map(|(name, value)| (name, Some(value)));
            let Some(auth) = known.auth() else {
                let headers: HeaderOverrides = own.collect();
                return Ok(json!({ "ok": true, "headers": headers }));
            };
            let overrides = AuthOverrides::default();
            let authenticator = models.authenticator();
            let found = authenticator.require(&auth, &env, &overrides).await;
            Ok(match found {
                Ok(found) => {
                    let headers: HeaderOverrides = own.chain(found.headers).collect();
                    let key = found.api_key.as_ref().map(ExposeSecret::expose_secret);
                    json!({
                        "ok": true,
                        "apiKey": key,
                        "headers": headers,
                        "baseUrl": found.base_url,
                        "env": found.env,
                        "isOAuth": found.kind == AuthKind::OAuth,
                    })
                }
                Err(error) => json!({ "ok": false, "error": error.to_string() }),
            })
        }))
    }

    /// Returns the status of a provider's credential without using it.
    pub(super) fn auth_status(&self, provider: &str) -> Value {
        match self.models.auth_status(provider) {
            Some(status) => json!({
                "configured": true,
                "source": status.source.to_string(),
                "isOAuth": status.kind == AuthKind::OAuth,
            }),
            None => json!({ "configured": false, "isOAuth": false }),
        }
    }
}
