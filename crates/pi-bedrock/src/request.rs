//! The request body of the Converse API.

use std::borrow::Cow;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AssistantBlock, AssistantMessage, CacheRetention, ImageContent, InputBlock, Message,
    MessageContent, ProviderError, ThinkingContent, Tool, ToolChoice, ToolResultMessage,
    transcript,
};
use pi_providers::transform::{self, tool_ids};
use pi_providers::wire::to_json_value;
use pi_providers::{ModelRequest, strict_parameters};
use serde::Serialize;
use serde_json::{Value, json};

use super::capabilities::BedrockCapabilities;
use super::decode::decode_base64;
use super::thinking::ConverseThinking;

/// Placeholder for blank text, which the service rejects.
const EMPTY_TEXT: &str = "<empty>";

/// Replaces an image of an error result, which may contain only text.
const IMAGE_FOLLOWS: &str = "(image attached after the tool results)";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConverseBody<'request> {
    messages: Vec<ConverseMessage<'request>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<ConverseBlock<'request>>,
    inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ConverseToolConfig<'request>>,
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
struct ConverseMessage<'request> {
    role: ConverseRole,
    content: Vec<ConverseBlock<'request>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ConverseRole {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ConverseBlock<'request> {
    Text(Cow<'request, str>),
    Image {
        source: ConverseImageSource<'request>,
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
    ReasoningContent(ConverseReasoning<'request>),
    CachePoint(CachePoint),
}

#[derive(Debug, Serialize)]
struct ConverseImageSource<'request> {
    bytes: &'request str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ConverseReasoning<'request> {
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
    fn for_request(request: &ModelRequest, capabilities: BedrockCapabilities) -> Option<Self> {
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
struct ConverseToolConfig<'request> {
    tools: Vec<ConverseTool<'request>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConverseTool<'request> {
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

/// Builds the body of a request to the given region.
pub(super) fn body(
    request: &ModelRequest,
    capabilities: BedrockCapabilities,
    region: &str,
) -> Result<Value, ProviderError> {
    let cache_point = CachePoint::for_request(request, capabilities);
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
    let thinking = ConverseThinking::for_request(request, capabilities);
    let tools = transcript::current_tools(&request.messages);
    let body = ConverseBody {
        tool_config: tool_config(&tools, request, &messages)?,
        messages,
        system: prompt
            .map(|text| ConverseBlock::Text(text.into()))
            .into_iter()
            .flat_map(|block| [Some(block), cache_point.map(ConverseBlock::CachePoint)])
            .flatten()
            .collect(),
        inference_config: InferenceConfig {
            max_tokens: thinking.max_tokens(request),
            temperature: request
                .options
                .temperature
                .filter(|_| thinking.accepts_temperature()),
        },
        additional_model_request_fields: thinking.fields(request, region),
        request_metadata: request.options.provider_option("requestMetadata"),
    };
    to_json_value(&body)
}

fn conversation<'request>(
    transcript: &'request [Cow<'request, Message>],
    capabilities: BedrockCapabilities,
    cache_point: Option<CachePoint>,
) -> Result<Vec<ConverseMessage<'request>>, ProviderError> {
    let mut messages: Vec<ConverseMessage<'request>> = Vec::with_capacity(transcript.len());
    let mut error_images: Vec<ConverseBlock<'request>> = Vec::new();
    for message in transcript {
        if !matches!(message.as_ref(), Message::ToolResult(_)) {
            append_blocks(&mut messages, &mut error_images);
        }
        let (role, content) = match message.as_ref() {
            Message::System(_) => continue,
            Message::User(user) => (ConverseRole::User, user_content(&user.content)?),
            Message::Assistant(message) => {
                (ConverseRole::Assistant, assistant(message, capabilities))
            }
            Message::ToolResult(result) => {
                let separate = capabilities.claude && result.is_error;
                if separate {
                    error_images.extend(images_after_results(result)?);
                }
                (ConverseRole::User, vec![tool_result(result, separate)?])
            }
        };
        // The service rejects consecutive messages of one role, and requires all results of an
        // assistant message in one message.
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ if content.is_empty() => {}
            _ => messages.push(ConverseMessage { role, content }),
        }
    }
    append_blocks(&mut messages, &mut error_images);
    if let (Some(cache_point), Some(last)) = (cache_point, messages.last_mut())
        && last.role == ConverseRole::User
    {
        last.content.push(ConverseBlock::CachePoint(cache_point));
    }
    Ok(messages)
}

fn user_content(content: &MessageContent) -> Result<Vec<ConverseBlock<'_>>, ProviderError> {
    match content {
        MessageContent::Text(text) => Ok(vec![
            text_block(text).unwrap_or(ConverseBlock::Text(EMPTY_TEXT.into())),
        ]),
        MessageContent::Blocks(blocks) => input_blocks(blocks),
    }
}

fn input_blocks(blocks: &[InputBlock]) -> Result<Vec<ConverseBlock<'_>>, ProviderError> {
    let mut converted = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block {
            InputBlock::Text(text) => converted.extend(text_block(&text.text)),
            InputBlock::Image(image) => converted.push(image_block(image)?),
            InputBlock::Unknown(_) => {}
        }
    }
    if converted.is_empty() {
        converted.push(ConverseBlock::Text(EMPTY_TEXT.into()));
    }
    Ok(converted)
}

/// Converts text; blank text is dropped because the service rejects it.
fn text_block(text: &str) -> Option<ConverseBlock<'_>> {
    (!text.trim().is_empty()).then_some(ConverseBlock::Text(Cow::Borrowed(text)))
}

fn image_block(image: &ImageContent) -> Result<ConverseBlock<'_>, ProviderError> {
    let format = match image.mime_type.as_str() {
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/png" => "png",
        "image/gif" => "gif",
        "image/webp" => "webp",
        other => {
            return Err(ProviderError::invalid(format!(
                "Bedrock does not support images of type {other}"
            )));
        }
    };
    Ok(ConverseBlock::Image {
        source: ConverseImageSource { bytes: &image.data },
        format,
    })
}

/// Converts a result; with `separate`, its images follow all results of the turn.
fn tool_result(
    result: &ToolResultMessage,
    separate: bool,
) -> Result<ConverseBlock<'_>, ProviderError> {
    let is_image = |block: &InputBlock| matches!(block, InputBlock::Image(_));
    let content = if separate && result.content.iter().any(is_image) {
        let mut content = Vec::with_capacity(result.content.len());
        let mut follows_image = false;
        for block in &result.content {
            match block {
                InputBlock::Text(text) => content.extend(text_block(&text.text)),
                InputBlock::Image(_) if !follows_image => {
                    content.push(ConverseBlock::Text(IMAGE_FOLLOWS.into()));
                }
                InputBlock::Image(_) | InputBlock::Unknown(_) => {}
            }
            follows_image = is_image(block);
        }
        content
    } else {
        input_blocks(&result.content)?
    };
    Ok(ConverseBlock::ToolResult {
        tool_use_id: &result.tool_call_id,
        content,
        status: if result.is_error { "error" } else { "success" },
    })
}

/// Returns the images of an error result with a caption that names the call.
fn images_after_results(
    result: &ToolResultMessage,
) -> Result<Vec<ConverseBlock<'_>>, ProviderError> {
    let images = result.content.iter().filter_map(|block| match block {
        InputBlock::Image(image) => Some(image_block(image)),
        InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    });
    let mut blocks = images.collect::<Result<Vec<_>, _>>()?;
    if !blocks.is_empty() {
        let caption = format!(
            "Images of the failed tool call {} ({}):",
            result.tool_call_id, result.tool_name
        );
        blocks.insert(0, ConverseBlock::Text(caption.into()));
    }
    Ok(blocks)
}

/// Appends blocks to the last message.
fn append_blocks<'request>(
    messages: &mut [ConverseMessage<'request>],
    added: &mut Vec<ConverseBlock<'request>>,
) {
    if let Some(last) = messages.last_mut() {
        last.content.append(added);
    }
}

fn assistant(
    message: &AssistantMessage,
    capabilities: BedrockCapabilities,
) -> Vec<ConverseBlock<'_>> {
    message
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text(text) => text_block(&text.text),
            AssistantBlock::Thinking(thinking) => reasoning(thinking, capabilities),
            AssistantBlock::ToolCall(call) => Some(ConverseBlock::ToolUse {
                tool_use_id: &call.id,
                name: &call.name,
                input: Value::Object(without_empty_keys(&call.arguments)),
            }),
            AssistantBlock::Unknown(_) => None,
        })
        .collect()
}

fn reasoning(
    block: &ThinkingContent,
    capabilities: BedrockCapabilities,
) -> Option<ConverseBlock<'_>> {
    let signature = block
        .thinking_signature
        .as_deref()
        .filter(|signature| !signature.trim().is_empty());
    if block.is_redacted() {
        // A payload from another program may be anything; the service requires base64.
        let payload = signature.filter(|payload| decode_base64(payload).is_some())?;
        return Some(ConverseBlock::ReasoningContent(
            ConverseReasoning::RedactedContent(payload),
        ));
    }
    let text = block.thinking.as_str();
    if text.trim().is_empty() {
        return None;
    }
    // Claude rejects thinking without its signature, all others reject the signature.
    Some(match (capabilities.claude, signature) {
        (true, None) => ConverseBlock::Text(Cow::Borrowed(text)),
        (true, signature) => {
            ConverseBlock::ReasoningContent(ConverseReasoning::ReasoningText { text, signature })
        }
        (false, _) => ConverseBlock::ReasoningContent(ConverseReasoning::ReasoningText {
            text,
            signature: None,
        }),
    })
}

/// Copies a JSON object without empty keys, which the service rejects at any depth.
fn without_empty_keys(object: &JsonObject) -> JsonObject {
    fn clean(value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(clean).collect(),
            Value::Object(object) => Value::Object(without_empty_keys(object)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    object
        .iter()
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (key.clone(), clean(value)))
        .collect()
}

fn tool_config<'request>(
    tools: &'request [Tool],
    request: &ModelRequest,
    messages: &[ConverseMessage<'_>],
) -> Result<Option<ConverseToolConfig<'request>>, ProviderError> {
    let requested = request.options.provider_option("toolChoice");
    let is_forbidden = match requested.and_then(Value::as_str) {
        Some(choice) => choice == "none",
        None => request.options.tool_choice == Some(ToolChoice::None),
    };
    // There is no tool choice "none", and the service rejects a history with calls if no tools are
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
            Ok(ConverseTool {
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
    Ok(Some(ConverseToolConfig {
        tools,
        tool_choice: tool_choice(requested, request.options.tool_choice),
    }))
}

fn has_tool_blocks(message: &ConverseMessage<'_>) -> bool {
    message.content.iter().any(|block| {
        matches!(
            block,
            ConverseBlock::ToolUse { .. } | ConverseBlock::ToolResult { .. }
        )
    })
}

fn tool_choice(requested: Option<&Value>, common: Option<ToolChoice>) -> Option<Value> {
    match requested {
        Some(Value::String(choice)) if choice == "auto" || choice == "any" => {
            Some(json!({ choice: {} }))
        }
        Some(choice) if choice["type"] == "tool" => Some(json!({"tool": {"name": choice["name"]}})),
        Some(_) => None,
        None => (common == Some(ToolChoice::Auto)).then(|| json!({"auto": {}})),
    }
}
