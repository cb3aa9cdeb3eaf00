//! Builds the request: URL, headers and body.

use std::borrow::Cow;

use pi_http::HeaderOverrides;
use pi_protocol::json::{self, JsonObject};
use pi_protocol::{
    AssistantBlock, AssistantMessage, CacheRetention, ImageContent, InputBlock, Message,
    MessageContent, Model, ProviderError, ThinkingLevel, Tool, ToolResultMessage, UserMessage,
    join_text, transcript,
};
use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::{Value, json};

use crate::constrained_sampling::strict_parameters;
use crate::options::ModelRequest;
use crate::token_limits;
use crate::transform::{self, tool_ids};
use crate::wire::{BodyEncoding, HttpExchange, missing_api_key, to_json_value};

const ERROR_PREFIX: &str = "Error: ";
const IMAGE_ATTACHED: &str = "(see attached image)";
const NO_OUTPUT: &str = "(no tool output)";

pub(super) fn build(request: &ModelRequest) -> Result<HttpExchange, ProviderError> {
    let session = cached_session(request);
    Ok(HttpExchange {
        url: format!(
            "{}/v1/chat/completions",
            request.model.base_url.trim_end_matches('/')
        ),
        headers: headers(request, session)?,
        body: Value::Object(body(request, session)?).into(),
        encoding: BodyEncoding::Json,
    })
}

/// Returns the session ID if caching is enabled.
fn cached_session(request: &ModelRequest) -> Option<&str> {
    let session = request.options.session_id.as_deref()?;
    (request.cache_retention() != CacheRetention::None && !session.is_empty()).then_some(session)
}

fn headers(
    request: &ModelRequest,
    session: Option<&str>,
) -> Result<HeaderOverrides, ProviderError> {
    let Some(key) = &request.options.api_key else {
        return Err(missing_api_key(request));
    };
    let bearer = format!("Bearer {}", key.expose_secret());
    let mut headers = HeaderOverrides::from([
        ("accept".to_owned(), Some("text/event-stream".to_owned())),
        ("authorization".to_owned(), Some(bearer)),
    ]);
    if let Some(session) = session {
        headers.insert("x-affinity".to_owned(), Some(session.to_owned()));
    }
    Ok(headers)
}

fn body(request: &ModelRequest, session: Option<&str>) -> Result<JsonObject, ProviderError> {
    let (model, options) = (&*request.model, &request.options);
    let later_system_messages = model
        .compat_value("supportsMidConvoSystemMessages")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let messages = transcript::resolve(&request.messages, later_system_messages);
    let call_id = |id: &str, _: &AssistantMessage| tool_ids::mistral(id);
    let messages = transform::hand_off(messages, model, &call_id, request.env.now_ms());
    let messages: Vec<MistralMessage> = chat_messages(&messages, model);
    let tools: Vec<Value> = transcript::current_tools(&request.messages)
        .iter()
        .map(function_tool)
        .collect::<Result<_, _>>()?;

    let mut body = JsonObject::new();
    body.insert("model".into(), model.id.clone().into());
    body.insert("stream".into(), true.into());
    body.insert("messages".into(), to_json_value(&messages)?);
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    body.insert(
        "max_tokens".into(),
        token_limits::output_limit(request).into(),
    );
    if let Some(choice) = options.tool_choice_value() {
        body.insert("tool_choice".into(), choice);
    }
    if let Some((field, value)) = thinking(request) {
        body.insert(field.into(), value);
    }
    if let Some(session) = session {
        body.insert("prompt_cache_key".into(), session.into());
    }
    Ok(body)
}

/// Returns the field that enables thinking, `None` if it is off.
fn thinking(request: &ModelRequest) -> Option<(&'static str, Value)> {
    let (model, options) = (&*request.model, &request.options);
    for (option, field) in [
        ("promptMode", "prompt_mode"),
        ("reasoningEffort", "reasoning_effort"),
    ] {
        if let Some(value) = options.provider_option(option) {
            return Some((field, value.clone()));
        }
    }
    if !model.reasoning {
        return None;
    }
    let level = match options.reasoning {
        ThinkingLevel::Off => ThinkingLevel::Off,
        level => model.clamp_thinking_level(level),
    };
    // A model with a level map accepts an effort; the others use the prompt mode.
    if model.thinking_level_map.is_none() {
        let is_on = level != ThinkingLevel::Off;
        return is_on.then(|| ("prompt_mode", "reasoning".into()));
    }
    let effort = model.mapped_thinking_level(level).flatten();
    let effort = match level {
        ThinkingLevel::Off => effort?,
        _ => effort.unwrap_or("high"),
    };
    Some(("reasoning_effort", effort.into()))
}

fn function_tool(tool: &Tool) -> Result<Value, ProviderError> {
    let strict = strict_parameters(tool, true)?;
    let is_strict = strict.is_some();
    let parameters = strict.unwrap_or_else(|| tool.parameters.clone());
    Ok(
        json!({"type": "function", "function": {"name": tool.name, "description": tool.description,
        "parameters": parameters, "strict": is_strict}}),
    )
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum MistralMessage {
    System {
        content: String,
    },
    User {
        content: UserContent,
    },
    Assistant {
        prefix: bool,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<MistralPart>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Value>,
    },
    Tool {
        tool_call_id: String,
        name: String,
        content: Vec<MistralPart>,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum UserContent {
    Text(String),
    Parts(Vec<MistralPart>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MistralPart {
    Text { text: String },
    Thinking { thinking: Vec<Self> },
    ImageUrl { image_url: String },
}

impl MistralPart {
    fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    fn image(image: &ImageContent) -> Self {
        Self::ImageUrl {
            image_url: format!("data:{};base64,{}", image.mime_type, image.data),
        }
    }
}

fn chat_messages(transcript: &[Cow<'_, Message>], model: &Model) -> Vec<MistralMessage> {
    let mut messages = Vec::with_capacity(transcript.len());
    for (index, message) in transcript.iter().enumerate() {
        messages.extend(match &**message {
            Message::System(message) => {
                let content = if index == 0 {
                    transcript::system_text(message)
                } else {
                    transcript::system_update_text(message)
                };
                (!content.is_empty()).then_some(MistralMessage::System { content })
            }
            Message::User(message) => user_message(message, model),
            Message::Assistant(message) => assistant_message(message),
            Message::ToolResult(message) => Some(tool_message(message, model)),
        });
    }
    messages
}

fn user_message(message: &UserMessage, model: &Model) -> Option<MistralMessage> {
    let content = match &message.content {
        MessageContent::Text(text) => UserContent::Text(text.clone()),
        MessageContent::Blocks(blocks) => {
            let parts: Vec<MistralPart> = blocks
                .iter()
                .filter_map(|block| match block {
                    InputBlock::Text(block) => Some(MistralPart::text(&block.text)),
                    InputBlock::Image(_) | InputBlock::Unknown(_) => image_part(block, model),
                })
                .collect();
            if parts.is_empty() {
                return None;
            }
            UserContent::Parts(parts)
        }
    };
    Some(MistralMessage::User { content })
}

fn image_part(block: &InputBlock, model: &Model) -> Option<MistralPart> {
    match block {
        InputBlock::Image(image) if model.accepts_images() => Some(MistralPart::image(image)),
        InputBlock::Image(_) | InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    }
}

fn assistant_message(message: &AssistantMessage) -> Option<MistralMessage> {
    let mut content = Vec::new();
    let mut tool_calls = Vec::new();
    for block in &message.content {
        match block {
            AssistantBlock::Text(block) if !block.text.trim().is_empty() => {
                content.push(MistralPart::text(&block.text));
            }
            AssistantBlock::Thinking(block) if !block.thinking.trim().is_empty() => {
                content.push(MistralPart::Thinking {
                    thinking: vec![MistralPart::text(&block.thinking)],
                });
            }
            AssistantBlock::ToolCall(call) => {
                let arguments = json::to_string(&call.arguments).unwrap_or_default();
                tool_calls.push(json!({"id": call.id, "type": "function", "index": 0,
                    "function": {"name": call.name, "arguments": arguments}}));
            }
            AssistantBlock::Text(_) | AssistantBlock::Thinking(_) | AssistantBlock::Unknown(_) => {}
        }
    }
    if content.is_empty() && tool_calls.is_empty() {
        return None;
    }
    Some(MistralMessage::Assistant {
        prefix: false,
        content,
        tool_calls,
    })
}

fn tool_message(message: &ToolResultMessage, model: &Model) -> MistralMessage {
    let images: Vec<MistralPart> = message
        .content
        .iter()
        .filter_map(|block| image_part(block, model))
        .collect();
    let joined = join_text(&message.content);
    let text = match joined.trim() {
        "" if images.is_empty() => NO_OUTPUT,
        "" => IMAGE_ATTACHED,
        text => text,
    };
    // The API has no field for a failed result.
    let prefix = if message.is_error { ERROR_PREFIX } else { "" };
    let mut content = vec![MistralPart::text(format!("{prefix}{text}"))];
    content.extend(images);
    MistralMessage::Tool {
        tool_call_id: message.tool_call_id.clone(),
        name: message.tool_name.clone(),
        content,
    }
}
