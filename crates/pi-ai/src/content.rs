//! Content blocks of messages.
//!
//! Every block keeps fields it does not know, and every list keeps blocks of a type it does not
//! know, so that a file written by a newer pi survives a round trip. How they are read is in [`read`].

use serde::{Deserialize, Serialize};

use crate::json::{JsonObject, null_as_default};

mod read;

pub(crate) use read::lenient_blocks;

/// A run of text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    pub text: String,
    /// Opaque provider data that identifies this text when it is sent back to the same model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl TextContent {
    /// Creates a plain text block.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// An image, as base64.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The image file, base64-encoded.
    pub data: String,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ImageContent {
    /// Creates an image block from base64 data.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            mime_type: mime_type.into(),
            extra: JsonObject::new(),
        }
    }
}

/// Thinking the model showed, or an opaque stand-in for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    /// The readable part; empty when the provider shows none.
    pub thinking: String,
    /// Opaque provider data that must accompany the thinking when it is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// The provider withheld the text; the signature holds the encrypted payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl ThinkingContent {
    /// Returns whether the provider withheld the text.
    pub fn is_redacted(&self) -> bool {
        self.redacted == Some(true)
    }
}

/// A call the model wants made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's id of the call; the result names it.
    pub id: String,
    pub name: String,
    /// The arguments, not yet validated.
    #[serde(default, deserialize_with = "null_as_default")]
    pub arguments: JsonObject,
    /// Opaque provider data that ties the call to the thinking before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The Responses-API namespace of a dynamically loaded tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// The field of a call that was not told to its end; it is kept with the call, so that whoever reads the
/// message later sees it, too.
const ARGUMENTS_ERROR: &str = "argumentsError";

impl ToolCall {
    /// Returns what is wrong with the text of the arguments, if they could not be read to their end. Such a
    /// call must not be made: half a command is another command.
    pub fn arguments_error(&self) -> Option<&str> {
        self.extra.get(ARGUMENTS_ERROR)?.as_str()
    }

    pub(crate) fn set_arguments_error(&mut self, error: &str) {
        self.extra.insert(ARGUMENTS_ERROR.to_owned(), error.into());
    }
}

/// A block a user message or a tool result may hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum InputBlock {
    Text(TextContent),
    Image(ImageContent),
    /// A block of a type this version does not know; kept, never sent.
    #[serde(untagged)]
    Unknown(JsonObject),
}

impl InputBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Image(_) | Self::Unknown(_) => None,
        }
    }
}

/// A block an assistant message may hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AssistantBlock {
    /// Text for the user.
    Text(TextContent),
    Thinking(ThinkingContent),
    ToolCall(ToolCall),
    /// A block of a type this version does not know; kept, never sent.
    #[serde(untagged)]
    Unknown(JsonObject),
}

impl AssistantBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Thinking(_) | Self::ToolCall(_) | Self::Unknown(_) => None,
        }
    }

    /// Returns the call of a tool-call block.
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            Self::Text(_) | Self::Thinking(_) | Self::Unknown(_) => None,
        }
    }
}

/// The content of a system or user message: a bare string or a list of blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    /// A list of blocks.
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
            Self::Blocks(blocks) => join_text(blocks),
        }
    }

    /// Returns whether there is neither text nor block.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

/// Joins the text of the text blocks with newlines.
pub fn join_text(blocks: &[InputBlock]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(InputBlock::as_text).collect();
    texts.join("\n")
}
