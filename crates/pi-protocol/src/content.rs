//! Content blocks of messages.
//!
//! Blocks preserve unknown fields, and lists preserve blocks of unknown types, so files written by
//! a newer version survive a round trip. Deserialization is in [`deserialize`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::json::{JsonObject, null_as_default};

mod deserialize;

pub(crate) use deserialize::lenient_blocks;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    pub text: String,
    /// Opaque provider data that identifies this text when it is replayed to the same model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl TextContent {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// Base64-encoded image file.
    pub data: String,
    /// Media type, such as `image/png`.
    pub mime_type: String,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ImageContent {
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            mime_type: mime_type.into(),
            extra: JsonObject::new(),
        }
    }
}

/// Thinking output, or an opaque payload for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    /// Readable thinking; empty if the provider shows none.
    pub thinking: String,
    /// Opaque provider data that must accompany the thinking when it is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// Whether the provider withheld the text. The signature then holds the encrypted payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ThinkingContent {
    pub fn is_redacted(&self) -> bool {
        self.redacted == Some(true)
    }
}

/// A tool call requested by the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's call ID; the tool result refers to it.
    pub id: String,
    pub name: String,
    /// Arguments, not yet validated.
    #[serde(default, deserialize_with = "null_as_default")]
    pub arguments: JsonObject,
    /// Opaque provider data that ties the call to the preceding thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// Responses API namespace of a dynamically loaded tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Field that marks a call with incomplete arguments. It is stored with the call, so later readers
/// of the message see it too.
const ARGUMENTS_ERROR: &str = "argumentsError";

impl ToolCall {
    /// Returns the parse error if the arguments could not be read to the end. Such a call must not
    /// be executed: half a command is a different command.
    pub fn arguments_error(&self) -> Option<&str> {
        self.extra.get(ARGUMENTS_ERROR)?.as_str()
    }

    pub fn set_arguments_error(&mut self, error: &str) {
        self.extra.insert(ARGUMENTS_ERROR.to_owned(), error.into());
    }
}

/// A block in a user message or tool result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum InputBlock {
    Text(TextContent),
    Image(ImageContent),
    /// A block of an unknown type; preserved, never sent.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown(JsonObject),
}

impl InputBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Image(_) | Self::Unknown(_) => None,
        }
    }
}

/// A block in an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AssistantBlock {
    Text(TextContent),
    Thinking(ThinkingContent),
    ToolCall(ToolCall),
    /// A block of an unknown type; preserved, never sent.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown(JsonObject),
}

impl AssistantBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Thinking(_) | Self::ToolCall(_) | Self::Unknown(_) => None,
        }
    }

    /// Returns the call if this is a tool-call block.
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            Self::Text(_) | Self::Thinking(_) | Self::Unknown(_) => None,
        }
    }
}

/// Content of a system or user message: a plain string or a list of blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Blocks(Vec<InputBlock>),
}

impl Default for MessageContent {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<InputBlock>> for MessageContent {
    fn from(blocks: Vec<InputBlock>) -> Self {
        Self::Blocks(blocks)
    }
}

impl MessageContent {
    /// Joins the text of all text blocks with newlines.
    pub fn joined_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => join_text(blocks).into_owned(),
        }
    }

    /// Returns whether there is neither text nor any block.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

/// Joins the text of the text blocks with newlines.
pub fn join_text(blocks: &[InputBlock]) -> Cow<'_, str> {
    if let [InputBlock::Text(only)] = blocks {
        return Cow::Borrowed(&only.text);
    }
    let texts: Vec<&str> = blocks.iter().filter_map(InputBlock::as_text).collect();
    Cow::Owned(texts.join("\n"))
}
