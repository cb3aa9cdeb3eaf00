//! A provider of an extension that streams responses or lists models itself.

use std::sync::{Arc, Weak};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_auth::Credential;
use pi_http::HeaderOverrides;
use pi_protocol::{
    AssistantMessage, ErrorClass, Message, MessageBuilder, ProviderError, StopReason, ToolCall,
};
use pi_providers::{ModelConfig, ModelRequest, ProviderDriver, RefreshContext};
use pi_stream::{AssistantStream, StreamWriter};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ExtensionsInner;
use crate::bridge::ExtensionBridge;
use crate::registration::ProviderData;
use crate::sign_in::credential_to_json;
use crate::tool::error_message;

pub(crate) struct ExtensionProvider {
    /// Weak, since models outlive sessions.
    shared: Weak<ExtensionsInner>,
    extension: String,
    provider: String,
    streams: bool,
    refreshes: bool,
    changes_models: bool,
}

impl ExtensionProvider {
    pub(crate) fn new(
        shared: &Arc<ExtensionsInner>,
        extension: String,
        provider: &ProviderData,
    ) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            extension,
            provider: provider.name.clone(),
            streams: provider.streams,
            refreshes: provider.refreshes,
            changes_models: provider
                .sign_in
                .as_ref()
                .is_some_and(|sign_in| sign_in.changes_models),
        }
    }
}

impl ProviderDriver for ExtensionProvider {
    fn stream(&self, request: ModelRequest) -> Option<AssistantStream> {
        if !self.streams {
            return None;
        }
        let shared = Weak::clone(&self.shared);
        let (extension, provider) = (self.extension.clone(), self.provider.clone());
        let model = Arc::clone(&request.model);
        let now = request.env.now_ms();
        Some(AssistantStream::produce(&model, now, |writer| async move {
            match shared.upgrade() {
                Some(shared) => {
                    stream_response(&shared, &extension, &provider, request, writer).await;
                }
                None => {
                    let gone = "the extension of this provider was unloaded";
                    writer.fail(ProviderError::invalid(gone)).await;
                }
            }
        }))
    }

    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<Option<Vec<ModelConfig>>, ProviderError>> {
        async move {
            let credential = context.credential.as_ref().and_then(Credential::as_oauth);
            // Models can only depend on the credential if there is one.
            let changes = self.changes_models && credential.is_some();
            let Some(shared) = self.shared.upgrade().filter(|_| self.refreshes || changes) else {
                return Ok(None);
            };
            let key = context.api_key.as_ref().map(ExposeSecret::expose_secret);
            let refresh = ModelsRefresh {
                credential: credential.map(credential_to_json),
                api_key: key,
                allow_network: context.network.is_some(),
                force: context.force,
            };
            let engine = &shared.engine;
            let models = engine.refresh_models(&self.extension, &self.provider, json!(refresh));
            let models = models.await.map_err(|error| failed(error_message(error)))?;
            pi_protocol::json::from_value(&models).map_err(|error| failed(error.to_string()))
        }
        .boxed()
    }
}

fn failed(message: String) -> ProviderError {
    ProviderError::new(ErrorClass::Protocol, message)
}

async fn stream_response(
    shared: &ExtensionsInner,
    extension: &str,
    provider: &str,
    request: ModelRequest,
    mut writer: StreamWriter,
) {
    let signal = shared.bridge.new_signal();
    let mut events = ExtensionBridge::open_channel(&shared.bridge.streams.responses, signal);
    let running = shared
        .engine
        .stream(extension, provider, request_to_json(&request), signal);
    let cancel = &request.options.cancel;
    let mut running = std::pin::pin!(shared.until_cancelled(running, signal, cancel));
    let outcome = loop {
        tokio::select! {
            biased;
            Some(mut event) = events.recv() => {
                if let Some(data) = provider_event(&mut event) {
                    report_provider_event(&request, data).await;
                    continue;
                }
                apply(writer.message(), &event);
                writer.flush().await;
                if let Err(error) = writer.check_budget() {
                    shared.bridge.streams.responses.lock().remove(&signal);
                    shared.signal_cancellation(signal).await;
                    writer.fail(error).await;
                    return;
                }
            }
            outcome = &mut running => break outcome,
        }
    };
    shared.bridge.streams.responses.lock().remove(&signal);
    while let Ok(mut event) = events.try_recv() {
        match provider_event(&mut event) {
            Some(data) => report_provider_event(&request, data).await,
            None => apply(writer.message(), &event),
        }
    }
    let last = outcome.map_err(error_message).and_then(|value| {
        pi_protocol::json::from_value::<AssistantMessage>(&value).map_err(|error| error.to_string())
    });
    match last {
        Ok(last) => finish(writer, last).await,
        Err(_) if cancel.is_cancelled() => writer.fail(ProviderError::aborted()).await,
        Err(error) => writer.fail(failed(error)).await,
    }
}

/// Why and how an extension lists the models of its provider.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelsRefresh<'a> {
    credential: Option<Value>,
    api_key: Option<&'a str>,
    allow_network: bool,
    force: bool,
}

/// The conversation of a request to an extension's provider.
#[derive(Serialize)]
struct StreamContext<'a> {
    messages: &'a [Message],
}

/// The options of a request to an extension's provider.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestOptions<'a> {
    api_key: Option<&'a str>,
    headers: &'a HeaderOverrides,
    session_id: Option<&'a str>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    reasoning: &'static str,
}

/// Serializes model, context and options for JavaScript.
fn request_to_json(request: &ModelRequest) -> [Value; 3] {
    let options = &request.options;
    [
        json!(request.model),
        json!(StreamContext {
            messages: &request.messages,
        }),
        json!(RequestOptions {
            api_key: options.api_key.as_ref().map(ExposeSecret::expose_secret),
            headers: &options.headers,
            session_id: options.session_id.as_deref(),
            max_tokens: options.max_tokens,
            temperature: options.temperature,
            reasoning: options.reasoning.as_str(),
        }),
    ]
}

/// A stream event from JavaScript.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum StreamEventData {
    Start,
    TextStart,
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
    },
    ThinkingStart,
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
    },
    #[serde(rename = "toolcall_start")]
    CallStart {
        id: Option<String>,
        name: Option<String>,
    },
    #[serde(rename = "toolcall_delta")]
    CallDelta {
        content_index: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    CallEnd {
        content_index: usize,
        tool_call: Option<ToolCall>,
    },
    #[serde(other)]
    Unknown,
}

/// Returns what the provider itself received, for hooks; `None` for other events.
fn provider_event(event: &mut Value) -> Option<Value> {
    let is_own = event.get("type").and_then(Value::as_str) == Some("provider_event");
    is_own.then(|| event.get_mut("data").map(Value::take).unwrap_or_default())
}

async fn report_provider_event(request: &ModelRequest, data: Value) {
    if let Some(hooks) = &request.options.hooks {
        hooks.on_stream_event(data, &request.model).await;
    }
}

/// Applies a stream event to the response; invalid events are ignored.
fn apply(message: &mut MessageBuilder, event: &Value) {
    match pi_protocol::json::from_value(event).unwrap_or(StreamEventData::Unknown) {
        StreamEventData::Start => message.start(),
        StreamEventData::TextStart => drop(message.open_text()),
        StreamEventData::TextDelta {
            content_index,
            delta,
        } => message.append_text(content_index, &delta),
        StreamEventData::TextEnd { content_index } => message.close_text(content_index),
        StreamEventData::ThinkingStart => drop(message.open_thinking()),
        StreamEventData::ThinkingDelta {
            content_index,
            delta,
        } => {
            message.append_thinking(content_index, &delta);
        }
        StreamEventData::ThinkingEnd { content_index } => message.close_thinking(content_index),
        StreamEventData::CallStart { id, name } => {
            message.open_tool_call(ToolCall {
                id: id.unwrap_or_default(),
                name: name.unwrap_or_default(),
                ..ToolCall::default()
            });
        }
        StreamEventData::CallDelta {
            content_index,
            delta,
        } => {
            message.append_arguments(content_index, &delta);
        }
        StreamEventData::CallEnd {
            content_index,
            tool_call,
        } => match tool_call {
            Some(call) => message.close_tool_call_with(content_index, call.arguments),
            None => message.close_tool_call(content_index),
        },
        StreamEventData::Unknown => {
            tracing::debug!("ignoring unknown stream event of extension provider");
        }
    }
}

/// Finishes the response with the extension's final message.
async fn finish(mut writer: StreamWriter, last: AssistantMessage) {
    let message = writer.message();
    message.start();
    if matches!(last.stop_reason, StopReason::Error | StopReason::Aborted) {
        let error = last.error_message.clone().unwrap_or_default();
        let cause = match last.stop_reason {
            StopReason::Aborted => ProviderError::aborted(),
            _ => failed(error),
        };
        message.update(|message| message.usage = last.usage);
        writer.fail(cause).await;
        return;
    }
    message.stop(last.stop_reason, last.raw_stop_reason.as_deref());
    message.update(|message| {
        message.content = last.content;
        message.usage = last.usage;
        message.response_id = last.response_id;
        message.response_model = last.response_model;
    });
    writer.complete().await;
}
