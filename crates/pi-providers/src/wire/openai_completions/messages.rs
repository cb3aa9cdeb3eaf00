//! Converts the transcript to chat messages.

use std::borrow::Cow;

use pi_protocol::json::serialize_text;
use pi_protocol::{
    AssistantBlock, AssistantMessage, ImageContent, InputBlock, Message, MessageContent, Model,
    ProviderError, SystemMessage, ThinkingContent, Tool, ToolResultMessage, UserMessage, join_text,
    transcript,
};
use serde::Serialize;
use serde_json::Value;

use super::cache::ChatCacheControl;
use super::compat::CompletionsCompat;
use super::reasoning_details;
use super::tools::{ChatTool, ChatToolCall, GrammarInputs};

/// Assistant message between a tool result and a user message, for services that require one.
const BRIDGE_MESSAGE: &str = "Tool results received.";
const IMAGE_ATTACHED: &str = "(see attached image)";
const NO_OUTPUT: &str = "(no tool output)";
const TOOL_IMAGES_LABEL: &str = "Tool result images:";

/// The fields in which services stream reasoning. A thinking block stores the name of its field as
/// its signature, and is replayed under it.
const REASONING_FIELDS: [&str; 3] = ["reasoning", "reasoning_content", "reasoning_text"];

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage {
    System(SystemChatMessage),
    Developer(SystemChatMessage),
    User { content: ChatContent },
    Assistant(AssistantChatMessage),
    Tool(ToolChatMessage),
}

#[derive(Debug, Default, Serialize)]
pub(super) struct SystemChatMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ChatContent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct AssistantChatMessage {
    content: ChatContent,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolChatMessage {
    content: ChatContent,
    tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent {
    #[default]
    Null,
    Text(#[serde(serialize_with = "serialize_text")] String),
    Parts(Vec<ContentPart>),
}

impl ChatContent {
    fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart {
    Text {
        #[serde(serialize_with = "serialize_text")]
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<ChatCacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl {
    #[serde(serialize_with = "serialize_text")]
    url: String,
}

impl ContentPart {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            cache_control: None,
        }
    }

    fn image(image: &ImageContent) -> Self {
        Self::ImageUrl {
            image_url: ImageUrl {
                url: format!("data:{};base64,{}", image.mime_type, image.data),
            },
        }
    }
}

impl ChatMessage {
    /// Returns the content of a system or developer message.
    pub(super) fn instructions(&mut self) -> Option<&mut ChatContent> {
        match self {
            Self::System(message) | Self::Developer(message) => message.content.as_mut(),
            Self::User { .. } | Self::Assistant(_) | Self::Tool(_) => None,
        }
    }

    /// Returns the content of any other message.
    pub(super) fn conversation(&mut self) -> Option<&mut ChatContent> {
        match self {
            Self::User { content } => Some(content),
            Self::Assistant(message) => Some(&mut message.content),
            Self::Tool(message) => Some(&mut message.content),
            Self::System(_) | Self::Developer(_) => None,
        }
    }
}

/// Converts a transcript to chat messages.
pub(super) struct ChatWriter<'request> {
    model: &'request Model,
    compat: &'request CompletionsCompat,
    inputs: &'request GrammarInputs,
    /// How many of the first system messages the request's tool list covers; later ones declare
    /// their tools themselves.
    covered_system_messages: usize,
    messages: Vec<ChatMessage>,
    /// Images of the tool results since the last other message.
    tool_images: Vec<ContentPart>,
}

impl<'request> ChatWriter<'request> {
    pub(super) fn new(
        model: &'request Model,
        compat: &'request CompletionsCompat,
        inputs: &'request GrammarInputs,
        covered_system_messages: usize,
    ) -> Self {
        Self {
            model,
            compat,
            inputs,
            covered_system_messages,
            messages: Vec::new(),
            tool_images: Vec::new(),
        }
    }

    /// Converts a transcript that was already handed off to the model.
    pub(super) fn write(
        mut self,
        transcript: &[Cow<'_, Message>],
    ) -> Result<Vec<ChatMessage>, ProviderError> {
        let mut systems = 0;
        for (index, message) in transcript.iter().enumerate() {
            if !matches!(**message, Message::ToolResult(_)) {
                self.push_tool_images();
            }
            match &**message {
                Message::System(message) => {
                    if systems >= self.covered_system_messages {
                        self.push_added_tools(message)?;
                    }
                    systems += 1;
                    self.push_instructions(if index == 0 {
                        transcript::system_text(message)
                    } else {
                        transcript::system_update_text(message)
                    });
                }
                Message::User(message) => self.push_user(message),
                Message::Assistant(message) => self.push_assistant(message),
                Message::ToolResult(message) => self.push_tool_result(message),
            }
        }
        self.push_tool_images();
        Ok(self.messages)
    }

    fn push_instructions(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        let instructions = SystemChatMessage {
            content: Some(ChatContent::Text(text)),
            tools: Vec::new(),
        };
        let is_developer = self.model.reasoning && self.compat.supports_developer_role;
        self.messages.push(if is_developer {
            ChatMessage::Developer(instructions)
        } else {
            ChatMessage::System(instructions)
        });
    }

    fn push_added_tools(&mut self, message: &SystemMessage) -> Result<(), ProviderError> {
        let added: &[Tool] = message.tools_added.as_deref().unwrap_or_default();
        if !added.is_empty() {
            let tools: Result<Vec<ChatTool>, ProviderError> = added
                .iter()
                .map(|tool| ChatTool::declare(tool, self.compat))
                .collect();
            self.messages.push(ChatMessage::System(SystemChatMessage {
                content: None,
                tools: tools?,
            }));
        }
        Ok(())
    }

    fn push_user(&mut self, message: &UserMessage) {
        let content = match &message.content {
            MessageContent::Text(text) => ChatContent::Text(text.clone()),
            MessageContent::Blocks(blocks) => {
                let parts: Vec<ContentPart> = blocks.iter().filter_map(user_part).collect();
                if parts.is_empty() {
                    return;
                }
                ChatContent::Parts(parts)
            }
        };
        self.push_user_content(content);
    }

    fn push_user_content(&mut self, content: ChatContent) {
        let follows_result = matches!(self.messages.last(), Some(ChatMessage::Tool(_)));
        if follows_result && self.compat.requires_assistant_after_tool_result {
            self.messages
                .push(ChatMessage::Assistant(AssistantChatMessage {
                    content: ChatContent::Text(BRIDGE_MESSAGE.to_owned()),
                    ..AssistantChatMessage::default()
                }));
        }
        self.messages.push(ChatMessage::User { content });
    }

    fn push_assistant(&mut self, message: &AssistantMessage) {
        let texts: Vec<&str> = message
            .content
            .iter()
            .filter_map(AssistantBlock::as_text)
            .filter(|text| !text.trim().is_empty())
            .collect();
        let all_thinking: Vec<&ThinkingContent> =
            message.content.iter().filter_map(as_thinking).collect();
        let thinking: Vec<&ThinkingContent> = all_thinking
            .iter()
            .copied()
            .filter(|block| !block.thinking.trim().is_empty())
            .collect();
        let mut chat_message = AssistantChatMessage {
            content: self.assistant_content(&texts, &thinking),
            reasoning_details: reasoning_details::for_message(&all_thinking, message),
            tool_calls: message
                .tool_calls()
                .map(|call| ChatToolCall::replay(call, self.inputs))
                .collect(),
            ..AssistantChatMessage::default()
        };
        // The details are the structured form of the same thinking: never send both.
        if chat_message.reasoning_details.is_none() && !self.compat.requires_thinking_as_text {
            self.replay_reasoning(&mut chat_message, &thinking);
        }
        if self.compat.requires_reasoning_content && self.model.reasoning {
            chat_message.reasoning_content.get_or_insert_default();
        }
        // Services reject an assistant message without content and calls.
        if !chat_message.content.is_empty() || !chat_message.tool_calls.is_empty() {
            self.messages.push(ChatMessage::Assistant(chat_message));
        }
    }

    /// Text is sent as a plain string: given a list of parts, some models start to respond in that
    /// format.
    fn assistant_content(&self, texts: &[&str], thinking: &[&ThinkingContent]) -> ChatContent {
        if self.compat.requires_thinking_as_text && !thinking.is_empty() {
            let thoughts: Vec<&str> = thinking.iter().map(|block| &*block.thinking).collect();
            let mut parts = vec![ContentPart::text(thoughts.join("\n\n"))];
            parts.extend(texts.iter().copied().map(ContentPart::text));
            return ChatContent::Parts(parts);
        }
        if !texts.is_empty() {
            return ChatContent::Text(texts.concat());
        }
        if self.compat.requires_assistant_after_tool_result {
            ChatContent::Text(String::new())
        } else {
            ChatContent::Null
        }
    }

    fn replay_reasoning(
        &self,
        chat_message: &mut AssistantChatMessage,
        thinking: &[&ThinkingContent],
    ) {
        let Some(signature) = thinking
            .first()
            .and_then(|block| block.thinking_signature.as_deref())
        else {
            return;
        };
        let field = reasoning_field(self.model, signature);
        if !REASONING_FIELDS.contains(&field) {
            return;
        }
        let thoughts: Vec<&str> = thinking.iter().map(|block| &*block.thinking).collect();
        let target = match field {
            "reasoning" => &mut chat_message.reasoning,
            "reasoning_text" => &mut chat_message.reasoning_text,
            _ => &mut chat_message.reasoning_content,
        };
        *target = Some(thoughts.join("\n"));
    }

    fn push_tool_result(&mut self, message: &ToolResultMessage) {
        let images: Vec<ContentPart> = message.content.iter().filter_map(as_image).collect();
        let mut text = join_text(&message.content).into_owned();
        if text.trim().is_empty() {
            let notice = if images.is_empty() {
                NO_OUTPUT
            } else {
                IMAGE_ATTACHED
            };
            notice.clone_into(&mut text);
        }
        let name = Some(&message.tool_name)
            .filter(|name| self.compat.requires_tool_result_name && !name.is_empty());
        self.messages.push(ChatMessage::Tool(ToolChatMessage {
            content: ChatContent::Text(text),
            tool_call_id: message.tool_call_id.clone(),
            name: name.cloned(),
        }));
        if self.model.accepts_images() {
            self.tool_images.extend(images);
        }
    }

    /// Tool messages are text-only, so the images of consecutive results follow in one user message.
    fn push_tool_images(&mut self) {
        if self.tool_images.is_empty() {
            return;
        }
        let mut parts = vec![ContentPart::text(TOOL_IMAGES_LABEL)];
        parts.append(&mut self.tool_images);
        self.push_user_content(ChatContent::Parts(parts));
    }
}

/// Returns the field that thinking is replayed under. `OpenCode` Go streams `reasoning` but only
/// accepts `reasoning_content`.
pub(super) fn reasoning_field<'name>(model: &Model, streamed: &'name str) -> &'name str {
    if model.provider == "opencode-go" && streamed == "reasoning" {
        "reasoning_content"
    } else {
        streamed
    }
}

fn user_part(block: &InputBlock) -> Option<ContentPart> {
    match block {
        InputBlock::Text(block) if block.text.is_empty() => None,
        InputBlock::Text(block) => Some(ContentPart::text(&block.text)),
        InputBlock::Image(_) => as_image(block),
        InputBlock::Unknown(_) => None,
    }
}

fn as_image(block: &InputBlock) -> Option<ContentPart> {
    match block {
        InputBlock::Image(image) => Some(ContentPart::image(image)),
        InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    }
}

fn as_thinking(block: &AssistantBlock) -> Option<&ThinkingContent> {
    match block {
        AssistantBlock::Thinking(block) => Some(block),
        AssistantBlock::Text(_) | AssistantBlock::ToolCall(_) | AssistantBlock::Unknown(_) => None,
    }
}
