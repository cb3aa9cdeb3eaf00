//! The request body of the Converse API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::capabilities::Capabilities;
use super::endpoint::is_gov_cloud;
use crate::constrained_sampling::strict_parameters;
use crate::content::{AssistantBlock, MessageContent, ImageContent, InputBlock, ThinkingContent};
use crate::error::ProviderError;
use crate::json::JsonObject;
use crate::message::{AssistantMessage, Message, ToolResultMessage};
use crate::options::{CacheRetention, ModelRequest, ToolChoice};
use crate::thinking::ThinkingLevel;
use crate::token_limits;
use crate::tool_schema::Tool;
use crate::transcript;
use crate::transform::{self, tool_ids};
use crate::wire::to_tree;

/// Stands where the service wants text and there is none.
const NO_TEXT: &str = "<empty>";

const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'request> {
    messages: Vec<WireMessage<'request>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<WireBlock<'request>>,
    inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'request>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_metadata: Option<&'request Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig {
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WireMessage<'request> {
    role: Role,
    content: Vec<WireBlock<'request>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireBlock<'request> {
    Text(Cow<'request, str>),
    Image {
        source: ImageSource<'request>,
        format: &'static str,
    },
    ToolUse {
        tool_use_id: &'request str,
        name: &'request str,
        input: Value,
    },
    ToolResult {
        tool_use_id: &'request str,
        content: Vec<Self>,
        status: &'static str,
    },
    ReasoningContent(Reasoning<'request>),
    CachePoint(CachePoint),
}

#[derive(Debug, Serialize)]
struct ImageSource<'request> {
    bytes: &'request str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Reasoning<'request> {
    ReasoningText {
        text: &'request str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'request str>,
    },
    RedactedContent(&'request str),
}

/// A marker that ends a cached prefix.
#[derive(Debug, Clone, Copy, Serialize)]
struct CachePoint {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CachePoint {
    fn of(request: &ModelRequest, capabilities: Capabilities) -> Option<Self> {
        let ttl = match request.cache_retention() {
            CacheRetention::None => return None,
            CacheRetention::Short => None,
            CacheRetention::Long => Some("1h"),
        };
        let kind = "default";
        capabilities.cache_points.then_some(Self { kind, ttl })
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'request> {
    tools: Vec<WireTool<'request>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTool<'request> {
    tool_spec: ToolSpec<'request>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolSpec<'request> {
    name: &'request str,
    description: &'request str,
    input_schema: InputSchema,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Debug, Serialize)]
struct InputSchema {
    json: Value,
}

/// Builds the body of a request that goes to the given region.
pub(super) fn body(
    request: &ModelRequest,
    capabilities: Capabilities,
    region: &str,
) -> Result<Value, ProviderError> {
    let cache_point = CachePoint::of(request, capabilities);
    let resolved = transcript::resolve(&request.messages, false);
    let prompt = resolved
        .first()
        .and_then(|message| message.as_system())
        .map(transcript::system_text)
        .filter(|text| !text.is_empty());
    let handed_off = transform::hand_off(
        resolved,
        &request.model,
        &|id, _| tool_ids::bedrock(id),
        request.env.now_ms(),
    );
    let messages = conversation(&handed_off, capabilities, cache_point)?;
    let thinking = Thinking::of(request, capabilities);
    let tools = transcript::current_tools(&request.messages);
    let body = Body {
        tool_config: tool_config(&tools, request, &messages)?,
        messages,
        system: prompt
            .map(|text| WireBlock::Text(text.into()))
            .into_iter()
            .flat_map(|block| [Some(block), cache_point.map(WireBlock::CachePoint)])
            .flatten()
            .collect(),
        inference_config: InferenceConfig {
            max_tokens: thinking.max_tokens(request),
            // Claude refuses a temperature beside thinking.
            temperature: request
                .options
                .temperature
                .filter(|_| thinking == Thinking::Unmentioned),
        },
        additional_model_request_fields: thinking.fields(request, region),
        request_metadata: request.options.provider_option("requestMetadata"),
    };
    to_tree(&body)
}

/// How the model shall think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinking<'request> {
    /// The model cannot think, shall not, or takes no word about it.
    Unmentioned,
    /// Up to a number of tokens.
    Budget,
    /// As much as the model finds right for an effort.
    Adaptive(&'request str),
}

impl<'request> Thinking<'request> {
    fn of(request: &'request ModelRequest, capabilities: Capabilities) -> Self {
        let level = request.options.reasoning;
        if level == ThinkingLevel::Off || !request.model.reasoning || !capabilities.claude {
            return Self::Unmentioned;
        }
        if !capabilities.adaptive_thinking {
            return Self::Budget;
        }
        if level == ThinkingLevel::Xhigh && capabilities.extra_high_effort {
            return Self::Adaptive("xhigh");
        }
        let mapped = request.model.mapped_thinking_level(level).flatten();
        Self::Adaptive(mapped.unwrap_or(match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
        }))
    }

    fn max_tokens(self, request: &ModelRequest) -> u64 {
        match self {
            Self::Budget => token_limits::thinking_allowance(request).max_tokens,
            Self::Unmentioned | Self::Adaptive(_) => token_limits::output_limit(request),
        }
    }

    fn fields(self, request: &ModelRequest, region: &str) -> Option<Value> {
        let option = |name: &str| request.options.provider_option(name);
        let mut thinking = match self {
            Self::Unmentioned => return None,
            Self::Budget => json!({"type": "enabled",
                "budget_tokens": token_limits::thinking_allowance(request).budget}),
            Self::Adaptive(_) => json!({"type": "adaptive"}),
        };
        // The government regions refuse the field.
        if !is_gov_cloud(&request.model, region) {
            let display = option("thinkingDisplay").and_then(Value::as_str);
            thinking["display"] = display.unwrap_or("summarized").into();
        }
        let mut fields = json!({ "thinking": thinking });
        let interleaved = option("interleavedThinking").and_then(Value::as_bool);
        match self {
            Self::Adaptive(effort) => fields["output_config"] = json!({ "effort": effort }),
            Self::Budget if interleaved.unwrap_or(true) => {
                fields["anthropic_beta"] = json!([INTERLEAVED_THINKING]);
            }
            Self::Budget | Self::Unmentioned => {}
        }
        Some(fields)
    }
}

fn conversation<'request>(
    transcript: &'request [Cow<'request, Message>],
    capabilities: Capabilities,
    cache_point: Option<CachePoint>,
) -> Result<Vec<WireMessage<'request>>, ProviderError> {
    let mut messages: Vec<WireMessage<'request>> = Vec::with_capacity(transcript.len());
    for message in transcript {
        let (role, content) = match message.as_ref() {
            Message::System(_) => continue,
            Message::User(user) => (Role::User, user_content(&user.content)?),
            Message::Assistant(answer) => (Role::Assistant, assistant(answer, capabilities)),
            Message::ToolResult(result) => (Role::User, vec![tool_result(result)?]),
        };
        // The service refuses two messages of one role side by side, and wants all results of an
        // answer in one message.
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ if content.is_empty() => {}
            _ => messages.push(WireMessage { role, content }),
        }
    }
    if let (Some(cache_point), Some(last)) = (cache_point, messages.last_mut())
        && last.role == Role::User
    {
        last.content.push(WireBlock::CachePoint(cache_point));
    }
    Ok(messages)
}

fn user_content(content: &MessageContent) -> Result<Vec<WireBlock<'_>>, ProviderError> {
    match content {
        MessageContent::Text(text) => Ok(vec![
            text_block(text).unwrap_or(WireBlock::Text(NO_TEXT.into())),
        ]),
        MessageContent::Blocks(blocks) => input_blocks(blocks),
    }
}

fn input_blocks(blocks: &[InputBlock]) -> Result<Vec<WireBlock<'_>>, ProviderError> {
    let mut converted = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block {
            InputBlock::Text(text) => converted.extend(text_block(&text.text)),
            InputBlock::Image(image) => converted.push(image_block(image)?),
            InputBlock::Unknown(_) => {}
        }
    }
    if converted.is_empty() {
        converted.push(WireBlock::Text(NO_TEXT.into()));
    }
    Ok(converted)
}

/// Converts text; the service refuses blank one.
fn text_block(text: &str) -> Option<WireBlock<'_>> {
    (!text.trim().is_empty()).then_some(WireBlock::Text(Cow::Borrowed(text)))
}

fn image_block(image: &ImageContent) -> Result<WireBlock<'_>, ProviderError> {
    let format = match image.mime_type.as_str() {
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/png" => "png",
        "image/gif" => "gif",
        "image/webp" => "webp",
        other => {
            return Err(ProviderError::invalid(format!(
                "Bedrock takes no images of type {other}"
            )));
        }
    };
    Ok(WireBlock::Image {
        source: ImageSource { bytes: &image.data },
        format,
    })
}

fn tool_result(result: &ToolResultMessage) -> Result<WireBlock<'_>, ProviderError> {
    Ok(WireBlock::ToolResult {
        tool_use_id: &result.tool_call_id,
        content: input_blocks(&result.content)?,
        status: if result.is_error { "error" } else { "success" },
    })
}

fn assistant(answer: &AssistantMessage, capabilities: Capabilities) -> Vec<WireBlock<'_>> {
    answer
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text(text) => text_block(&text.text),
            AssistantBlock::Thinking(thinking) => reasoning(thinking, capabilities),
            AssistantBlock::ToolCall(call) => Some(WireBlock::ToolUse {
                tool_use_id: &call.id,
                name: &call.name,
                input: Value::Object(document(&call.arguments)),
            }),
            AssistantBlock::Unknown(_) => None,
        })
        .collect()
}

fn reasoning(block: &ThinkingContent, capabilities: Capabilities) -> Option<WireBlock<'_>> {
    let signature = block
        .thinking_signature
        .as_deref()
        .filter(|signature| !signature.trim().is_empty());
    if block.is_redacted() {
        // A payload that another program wrote may be anything; the service takes base64.
        let payload = signature.filter(|payload| super::decode_base64(payload).is_some())?;
        return Some(WireBlock::ReasoningContent(Reasoning::RedactedContent(
            payload,
        )));
    }
    let text = block.thinking.as_str();
    if text.trim().is_empty() {
        return None;
    }
    // Claude refuses thinking without its signature, all others refuse the signature.
    Some(match (capabilities.claude, signature) {
        (true, None) => WireBlock::Text(Cow::Borrowed(text)),
        (true, signature) => {
            WireBlock::ReasoningContent(Reasoning::ReasoningText { text, signature })
        }
        (false, _) => WireBlock::ReasoningContent(Reasoning::ReasoningText {
            text,
            signature: None,
        }),
    })
}

/// Copies a JSON object without empty keys, which the service refuses at any depth.
fn document(object: &JsonObject) -> JsonObject {
    fn cleaned(value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(cleaned).collect(),
            Value::Object(object) => Value::Object(document(object)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    object
        .iter()
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (key.clone(), cleaned(value)))
        .collect()
}

fn tool_config<'request>(
    tools: &'request [Tool],
    request: &ModelRequest,
    messages: &[WireMessage<'_>],
) -> Result<Option<ToolConfig<'request>>, ProviderError> {
    let asked = request.options.provider_option("toolChoice");
    let is_forbidden = match asked.and_then(Value::as_str) {
        Some(choice) => choice == "none",
        None => request.options.tool_choice == Some(ToolChoice::None),
    };
    // There is no choice "none", and the service refuses a history with calls where no tools are
    // declared.
    if tools.is_empty() || (is_forbidden && !messages.iter().any(has_tool_blocks)) {
        return Ok(None);
    }
    let is_strict = request
        .model
        .compat_value("supportsStrictMode")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let tools = tools
        .iter()
        .map(|tool| {
            let strict = strict_parameters(tool, is_strict)?;
            Ok(WireTool {
                tool_spec: ToolSpec {
                    name: &tool.name,
                    description: &tool.description,
                    strict: strict.is_some().then_some(true),
                    input_schema: InputSchema {
                        json: strict.unwrap_or_else(|| tool.parameters.clone()),
                    },
                },
            })
        })
        .collect::<Result<_, ProviderError>>()?;
    Ok(Some(ToolConfig {
        tools,
        tool_choice: tool_choice(asked, request.options.tool_choice),
    }))
}

fn has_tool_blocks(message: &WireMessage<'_>) -> bool {
    message.content.iter().any(|block| {
        matches!(
            block,
            WireBlock::ToolUse { .. } | WireBlock::ToolResult { .. }
        )
    })
}

fn tool_choice(asked: Option<&Value>, general: Option<ToolChoice>) -> Option<Value> {
    match asked {
        Some(Value::String(choice)) if choice == "auto" || choice == "any" => {
            Some(json!({ choice: {} }))
        }
        Some(choice) if choice["type"] == "tool" => Some(json!({"tool": {"name": choice["name"]}})),
        Some(_) => None,
        None => (general == Some(ToolChoice::Auto)).then(|| json!({"auto": {}})),
    }
}
