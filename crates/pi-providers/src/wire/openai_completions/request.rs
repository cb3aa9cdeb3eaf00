//! Builds the request: URL, headers and body.

use std::borrow::Cow;

use pi_protocol::json::JsonObject;
use pi_protocol::transcript::{self, RequestTools};
use pi_protocol::{CacheRetention, Message, ProviderError};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::compat::CompletionsCompat;
use super::messages::{ChatMessage, ChatWriter};
use super::thinking::ThinkingFields;
use super::tools::{self, ChatTool};
use super::{cache, headers};
use crate::options::ModelRequest;
use crate::token_limits;
use crate::transform::{self, tool_ids};
use crate::wire::{BodyEncoding, HttpExchange, RequestBody, azure, to_json_value};

pub(super) fn build(request: &ModelRequest) -> Result<HttpExchange, ProviderError> {
    let compat = CompletionsCompat::for_model(&request.model);
    let retention = request.cache_retention();
    let base_url = match request.model.provider.as_str() {
        azure::PROVIDER => azure::base_url(request)?.into(),
        _ => request.model.base_url.clone(),
    };
    Ok(HttpExchange {
        url: format!("{}/chat/completions", base_url.trim_end_matches('/')),
        headers: headers::build(request, &compat, retention)?,
        body: body(request, &compat, retention)?,
        encoding: BodyEncoding::Json,
    })
}

fn body(
    request: &ModelRequest,
    compat: &CompletionsCompat,
    retention: CacheRetention,
) -> Result<RequestBody, ProviderError> {
    let (model, options) = (&*request.model, &request.options);
    let output_limit = token_limits::output_limit(request);
    let transcript_tools = RequestTools::resolve(&request.messages, compat.in_place_tools());
    let mut declared: Vec<ChatTool> = transcript_tools
        .tools
        .iter()
        .map(|tool| ChatTool::declare(tool, compat))
        .collect::<Result<_, _>>()?;
    let inputs = tools::grammar_inputs(&request.messages, compat)?;
    let covered = transcript_tools.covered_system_messages;
    let mut messages = ChatWriter::new(model, compat, &inputs, covered)
        .write(&hand_off_messages(request, compat))?;
    cache::mark(&mut messages, &mut declared, compat, retention);

    let mut body = JsonObject::new();
    let served_as = match model.provider.as_str() {
        azure::PROVIDER => azure::deployment(request),
        _ => model.id.clone(),
    };
    body.insert("model".into(), served_as.into());
    body.insert("messages".into(), Value::Null);
    body.insert("stream".into(), true.into());
    cache::add_cache_key(&mut body, request, compat, retention);
    if compat.supports_usage_in_streaming {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if compat.supports_store {
        body.insert("store".into(), false.into());
    }
    body.insert(compat.max_tokens_field.as_str().into(), output_limit.into());
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    write_tools(&mut body, request, compat, &declared)?;
    if let Some(priority) = &compat.vllm_priority {
        body.insert("priority".into(), priority.clone().into());
    }
    ThinkingFields::for_request(request, output_limit).write(&mut body, compat);
    write_routing(&mut body, compat);
    // Last, so that they override everything above.
    body.extend(request.sampling_params());
    RequestBody::write(&ChatBody(&body, &messages))
}

/// A body whose messages are encoded instead of `null`. As a value, the conversation would take several times its
/// size.
struct ChatBody<'request>(&'request JsonObject, &'request [ChatMessage]);

impl Serialize for ChatBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| match value {
            Value::Null if name == "messages" => (name, ChatField::Messages(self.1)),
            value => (name, ChatField::Value(value)),
        }))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatField<'request> {
    Messages(&'request [ChatMessage]),
    Value(&'request Value),
}

fn write_tools(
    body: &mut JsonObject,
    request: &ModelRequest,
    compat: &CompletionsCompat,
    declared: &[ChatTool],
) -> Result<(), ProviderError> {
    if !declared.is_empty() {
        body.insert("tools".into(), to_json_value(declared)?);
        if compat.zai_tool_stream {
            body.insert("tool_stream".into(), true.into());
        }
    } else if request.messages.iter().any(uses_tools) {
        // Proxies in front of Anthropic reject a history with calls if no tools are declared.
        body.insert("tools".into(), json!([]));
    }
    if let Some(choice) = request.options.tool_choice_value() {
        body.insert("tool_choice".into(), choice);
    }
    Ok(())
}

fn hand_off_messages<'request>(
    request: &'request ModelRequest,
    compat: &CompletionsCompat,
) -> Vec<Cow<'request, Message>> {
    let model = &*request.model;
    let messages = transcript::resolve(&request.messages, compat.supports_later_system_messages);
    let call_id = |id: &str, _: &_| tool_ids::completions(id, model);
    transform::hand_off(messages, model, &call_id, request.env.now_ms())
}

fn uses_tools(message: &Message) -> bool {
    match message {
        Message::ToolResult(_) => true,
        Message::Assistant(message) => message.tool_calls().next().is_some(),
        Message::System(_) | Message::User(_) => false,
    }
}

fn write_routing(body: &mut JsonObject, compat: &CompletionsCompat) {
    if let Some(routing) = &compat.open_router_routing {
        body.insert("provider".into(), Value::Object(routing.clone()));
    }
    if let Some(routing) = &compat.vercel_gateway_routing {
        let gateway: JsonObject = ["only", "order"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), routing.get(name)?.clone())))
            .collect();
        if !gateway.is_empty() {
            body.insert("providerOptions".into(), json!({"gateway": gateway}));
        }
    }
}
