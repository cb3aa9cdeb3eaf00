//! Converts the conversation for the Messages API.

use std::borrow::Cow;

use pi_protocol::json::{JsonObject, serialize_text};
use pi_protocol::{
    AssistantBlock, AssistantMessage, InputBlock, Message, MessageContent, ProviderError,
    SystemMessage, ThinkingContent, ToolResultMessage, api, join_text, transcript,
};
use serde::Serialize;

use super::compat::MessagesCompat;
use super::request::{CacheControl, OutputConfig, WireTool, wire_tool};
use crate::options::ModelRequest;
use crate::transform::{self, tool_ids};

/// Text of a tool result that contains only images; the service requires a text block.
const ATTACHED_IMAGE: &str = "(see attached image)";

/// Text of an error result in place of its images.
const IMAGE_FOLLOWS: &str = "(image attached after the tool results)";

/// The efforts that a history may contain.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

#[derive(Debug, Serialize)]
pub(super) struct WireMessage<'request> {
    role: MessageRole,
    content: WireContent<'request>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'request>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum MessageRole {
    System,
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum WireContent<'request> {
    Text(#[serde(serialize_with = "serialize_text")] Cow<'request, str>),
    Blocks(Vec<MarkedBlock<'request>>),
}

/// A content block with an optional cache marker.
#[derive(Debug, Serialize)]
struct MarkedBlock<'request> {
    #[serde(flatten)]
    block: WireBlock<'request>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

impl<'request> From<WireBlock<'request>> for MarkedBlock<'request> {
    fn from(block: WireBlock<'request>) -> Self {
        Self {
            block,
            cache_control: None,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireBlock<'request> {
    Text {
        #[serde(serialize_with = "serialize_text")]
        text: Cow<'request, str>,
    },
    Image {
        source: ImageSource<'request>,
    },
    Thinking {
        #[serde(serialize_with = "serialize_text")]
        thinking: &'request str,
        #[serde(serialize_with = "serialize_text")]
        signature: &'request str,
    },
    RedactedThinking {
        data: &'request str,
    },
    ToolUse {
        id: &'request str,
        name: &'request str,
        input: &'request JsonObject,
    },
    ToolResult {
        tool_use_id: &'request str,
        content: WireContent<'request>,
        is_error: bool,
    },
    ToolAddition {
        tool: InlineTool<'request>,
    },
    ToolRemoval {
        tool: ToolName<'request>,
    },
}

#[derive(Debug, Serialize)]
struct ImageSource<'request> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'request str,
    #[serde(serialize_with = "serialize_text")]
    data: &'request str,
}

#[derive(Debug, Serialize)]
struct ToolName<'request> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'request str,
}

#[derive(Debug, Serialize)]
struct InlineTool<'request> {
    #[serde(rename = "type")]
    kind: &'static str,
    definition: WireTool<'request>,
}

/// Applies the hand-off rules for this API.
pub(super) fn hand_off<'request>(
    messages: Vec<Cow<'request, Message>>,
    request: &ModelRequest,
) -> Vec<Cow<'request, Message>> {
    transform::hand_off(
        messages,
        &request.model,
        &|id, _| tool_ids::anthropic(id),
        request.env.now_ms(),
    )
}

/// Settings for the conversion of a conversation.
#[derive(Debug)]
pub(super) struct ConversationConverter<'request> {
    /// The provider of the request; efforts of its own messages are replayed.
    pub provider: &'request str,
    /// The marker for the end of the conversation.
    pub cache: Option<CacheControl>,
    /// Thinking may be replayed without a signature.
    pub empty_signature: bool,
    /// If set, tool changes are sent at their system message.
    pub tool_changes: Option<&'request MessagesCompat>,
    /// The effort of this request, for models whose effort is part of the history.
    pub current_effort: Option<&'request str>,
}

impl<'request> ConversationConverter<'request> {
    /// Converts a transcript; its leading system message is not part of the conversation.
    pub(super) fn convert(
        &self,
        transcript: &'request [Cow<'request, Message>],
    ) -> Result<Vec<WireMessage<'request>>, ProviderError> {
        let mut messages: Vec<WireMessage<'request>> = Vec::with_capacity(transcript.len());
        // Tool results must directly follow their calls, so a system message is deferred until the
        // next assistant message that is sent, or the end.
        let mut deferred: Vec<WireMessage<'request>> = Vec::new();
        let mut follows_result = false;
        let mut error_images: Vec<MarkedBlock<'request>> = Vec::new();
        for (index, message) in transcript.iter().enumerate() {
            let mut is_result = false;
            if !matches!(message.as_ref(), Message::ToolResult(_)) {
                append_blocks(&mut messages, &mut error_images);
            }
            match message.as_ref() {
                Message::System(_) if index == 0 => {}
                Message::System(system) => deferred.extend(self.system(system)?),
                Message::User(user) => messages.extend(user_message(&user.content)),
                Message::Assistant(message) => {
                    let replayed = self.assistant(message);
                    if !replayed.is_empty() {
                        messages.append(&mut deferred);
                    }
                    messages.extend(replayed);
                }
                Message::ToolResult(result) => {
                    is_result = true;
                    let block = tool_result(result).into();
                    error_images.extend(images_after_results(result));
                    match messages.last_mut() {
                        Some(WireMessage {
                            content: WireContent::Blocks(blocks),
                            ..
                        }) if follows_result => blocks.push(block),
                        _ => messages.push(WireMessage::new(MessageRole::User, vec![block])),
                    }
                }
            }
            follows_result = is_result;
        }
        append_blocks(&mut messages, &mut error_images);
        messages.append(&mut deferred);
        self.add_cache_marker(&mut messages);
        if let Some(effort) = self.current_effort {
            messages.push(WireMessage::effort(effort));
        }
        Ok(messages)
    }

    fn system(
        &self,
        system: &'request SystemMessage,
    ) -> Result<Option<WireMessage<'request>>, ProviderError> {
        let mut blocks: Vec<MarkedBlock<'request>> = Vec::new();
        let text = transcript::system_update_text(system);
        if !text.is_empty() {
            blocks.push(WireBlock::Text { text: text.into() }.into());
        }
        if let Some(compat) = self.tool_changes {
            let added = system.tools_added.as_deref().unwrap_or_default();
            // A new definition replaces the old one of the same name without a removal.
            let is_redefined = |name: &str| added.iter().any(|tool| tool.name == name);
            let removed = system.tools_removed.iter().flatten();
            let removed = removed.filter(|tool| !is_redefined(&tool.name));
            blocks.extend(removed.map(|tool| {
                let tool = ToolName::new(&tool.name);
                WireBlock::ToolRemoval { tool }.into()
            }));
            for tool in added {
                let tool = InlineTool {
                    kind: "tool_definition",
                    definition: wire_tool(tool, compat)?,
                };
                blocks.push(WireBlock::ToolAddition { tool }.into());
            }
        }
        Ok((!blocks.is_empty()).then(|| WireMessage::new(MessageRole::System, blocks)))
    }

    /// Converts an assistant message, preceded by its effort if efforts are part of the history.
    fn assistant(&self, message: &'request AssistantMessage) -> Vec<WireMessage<'request>> {
        let blocks: Vec<MarkedBlock<'request>> = message
            .content
            .iter()
            .filter_map(|block| self.assistant_block(block))
            .map(Into::into)
            .collect();
        if blocks.is_empty() {
            return Vec::new();
        }
        let effort = message
            .provider_thinking_level
            .as_deref()
            .filter(|effort| EFFORTS.contains(effort))
            .filter(|_| {
                self.current_effort.is_some()
                    && message.api == api::ANTHROPIC_MESSAGES
                    && message.provider == self.provider
            });
        effort
            .map(WireMessage::effort)
            .into_iter()
            .chain([WireMessage::new(MessageRole::Assistant, blocks)])
            .collect()
    }

    fn assistant_block(&self, block: &'request AssistantBlock) -> Option<WireBlock<'request>> {
        match block {
            AssistantBlock::Text(text) => (!text.text.trim().is_empty()).then(|| WireBlock::Text {
                text: Cow::Borrowed(&text.text),
            }),
            AssistantBlock::Thinking(thinking) => self.thinking(thinking),
            AssistantBlock::ToolCall(call) => Some(WireBlock::ToolUse {
                id: &call.id,
                name: &call.name,
                input: &call.arguments,
            }),
            AssistantBlock::Unknown(_) => None,
        }
    }

    fn thinking(&self, block: &'request ThinkingContent) -> Option<WireBlock<'request>> {
        let signature = block
            .thinking_signature
            .as_deref()
            .filter(|signature| !signature.trim().is_empty());
        if block.is_redacted() {
            return signature.map(|data| WireBlock::RedactedThinking { data });
        }
        match signature {
            Some(signature) => Some(WireBlock::Thinking {
                thinking: &block.thinking,
                signature,
            }),
            None if block.thinking.trim().is_empty() => None,
            None if self.empty_signature => Some(WireBlock::Thinking {
                thinking: &block.thinking,
                signature: "",
            }),
            // A truncated response has no signature, and the service rejects thinking without
            // one.
            None => Some(WireBlock::Text {
                text: Cow::Borrowed(&block.thinking),
            }),
        }
    }

    /// Adds the cache marker at the end of the conversation.
    fn add_cache_marker(&self, messages: &mut [WireMessage<'request>]) {
        let (Some(cache), Some(last)) = (self.cache, messages.last_mut()) else {
            return;
        };
        if last.role == MessageRole::Assistant {
            return;
        }
        if let WireContent::Text(text) = &mut last.content {
            let text = std::mem::take(text);
            last.content = WireContent::Blocks(vec![WireBlock::Text { text }.into()]);
        }
        if let WireContent::Blocks(blocks) = &mut last.content
            && let Some(block) = blocks.last_mut()
        {
            block.cache_control = Some(cache);
        }
    }
}

impl<'request> WireMessage<'request> {
    fn new(role: MessageRole, blocks: Vec<MarkedBlock<'request>>) -> Self {
        Self {
            role,
            content: WireContent::Blocks(blocks),
            output_config: None,
        }
    }

    fn effort(effort: &'request str) -> Self {
        Self {
            output_config: Some(OutputConfig { effort }),
            ..Self::new(MessageRole::System, Vec::new())
        }
    }
}

impl<'request> ToolName<'request> {
    fn new(name: &'request str) -> Self {
        Self {
            kind: "tool_reference",
            name,
        }
    }
}

fn user_message(content: &MessageContent) -> Option<WireMessage<'_>> {
    match content {
        MessageContent::Text(text) => (!text.trim().is_empty()).then(|| WireMessage {
            role: MessageRole::User,
            content: WireContent::Text(Cow::Borrowed(text)),
            output_config: None,
        }),
        MessageContent::Blocks(blocks) => {
            let blocks: Vec<_> = blocks.iter().filter_map(input_block).collect();
            (!blocks.is_empty()).then(|| WireMessage::new(MessageRole::User, blocks))
        }
    }
}

fn tool_result(result: &ToolResultMessage) -> WireBlock<'_> {
    WireBlock::ToolResult {
        tool_use_id: &result.tool_call_id,
        content: if result.is_error {
            error_content(&result.content)
        } else {
            tool_result_content(&result.content)
        },
        is_error: result.is_error,
    }
}

/// Converts an error result. The service accepts only text in it, so images follow the results.
fn error_content(blocks: &[InputBlock]) -> WireContent<'_> {
    let is_image = |block: &InputBlock| matches!(block, InputBlock::Image(_));
    if !blocks.iter().any(is_image) {
        return tool_result_content(blocks);
    }
    let mut texts: Vec<&str> = Vec::new();
    for block in blocks {
        match block {
            InputBlock::Text(text) => texts.push(&text.text),
            InputBlock::Image(_) if texts.last() != Some(&IMAGE_FOLLOWS) => {
                texts.push(IMAGE_FOLLOWS);
            }
            InputBlock::Image(_) | InputBlock::Unknown(_) => {}
        }
    }
    WireContent::Text(texts.join("\n").into())
}

/// Returns the images of an error result with a caption that names the call.
fn images_after_results(result: &ToolResultMessage) -> Vec<MarkedBlock<'_>> {
    let images = result.content.iter().filter_map(|block| match block {
        InputBlock::Image(_) if result.is_error => input_block(block),
        InputBlock::Image(_) | InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    });
    let mut blocks: Vec<MarkedBlock<'_>> = images.collect();
    if !blocks.is_empty() {
        let text = format!(
            "Images of the failed tool call {} ({}):",
            result.tool_call_id, result.tool_name
        );
        blocks.insert(0, WireBlock::Text { text: text.into() }.into());
    }
    blocks
}

/// Appends blocks to the last message.
fn append_blocks<'request>(
    messages: &mut [WireMessage<'request>],
    added: &mut Vec<MarkedBlock<'request>>,
) {
    if let Some(WireMessage {
        content: WireContent::Blocks(blocks),
        ..
    }) = messages.last_mut()
    {
        blocks.append(added);
    }
}

fn tool_result_content(blocks: &[InputBlock]) -> WireContent<'_> {
    let has_images = blocks
        .iter()
        .any(|block| matches!(block, InputBlock::Image(_)));
    if !has_images {
        return WireContent::Text(join_text(blocks));
    }
    let mut converted: Vec<MarkedBlock<'_>> = blocks.iter().filter_map(input_block).collect();
    let has_text = converted
        .iter()
        .any(|marked| matches!(marked.block, WireBlock::Text { .. }));
    if !has_text {
        let text = Cow::Borrowed(ATTACHED_IMAGE);
        converted.insert(0, WireBlock::Text { text }.into());
    }
    WireContent::Blocks(converted)
}

/// Converts a block; blank text is dropped because the service rejects it.
fn input_block(block: &InputBlock) -> Option<MarkedBlock<'_>> {
    let block = match block {
        InputBlock::Text(text) if text.text.trim().is_empty() => return None,
        InputBlock::Text(text) => WireBlock::Text {
            text: Cow::Borrowed(&text.text),
        },
        InputBlock::Image(image) => WireBlock::Image {
            source: ImageSource {
                kind: "base64",
                media_type: &image.mime_type,
                data: &image.data,
            },
        },
        InputBlock::Unknown(_) => return None,
    };
    Some(block.into())
}
