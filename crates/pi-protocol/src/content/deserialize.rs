//! Deserializes content blocks and lists of blocks.
//!
//! A long session has hundreds of thousands of blocks, and serde's derived tagged enums buffer
//! every value before reading the tag. Here each block is read into an object once, and its `type`
//! field selects the variant.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{
    AssistantBlock, ImageContent, InputBlock, MessageContent, TextContent, ThinkingContent,
    ToolCall,
};
use crate::json::JsonObject;

const TYPE_FIELD: &str = "type";

impl<'de> Deserialize<'de> for InputBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = JsonObject::deserialize(deserializer)?;
        let known = read_known(&mut fields, |type_name, fields| {
            Some(match type_name {
                "text" => Self::Text(TextContent::deserialize(fields).ok()?),
                "image" => Self::Image(ImageContent::deserialize(fields).ok()?),
                _ => return None,
            })
        });
        Ok(known.unwrap_or(Self::Unknown(fields)))
    }
}

impl<'de> Deserialize<'de> for AssistantBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = JsonObject::deserialize(deserializer)?;
        let known = read_known(&mut fields, |type_name, fields| {
            Some(match type_name {
                "text" => Self::Text(TextContent::deserialize(fields).ok()?),
                "thinking" => Self::Thinking(ThinkingContent::deserialize(fields).ok()?),
                "toolCall" => Self::ToolCall(ToolCall::deserialize(fields).ok()?),
                _ => return None,
            })
        });
        Ok(known.unwrap_or(Self::Unknown(fields)))
    }
}

/// Reads a block from `fields`, which `read` sees without `type`. If the type is unknown or a field
/// is invalid, `fields` is left unchanged.
fn read_known<Block>(
    fields: &mut JsonObject,
    read: impl FnOnce(&str, &JsonObject) -> Option<Block>,
) -> Option<Block> {
    let index = fields.keys().position(|key| key == TYPE_FIELD)?;
    let type_name = fields.shift_remove(TYPE_FIELD)?;
    let block = type_name.as_str().and_then(|name| read(name, fields));
    if block.is_none() {
        fields.shift_insert(index, TYPE_FIELD.to_owned(), type_name);
    }
    block
}

/// Content as stored: old files have a plain string instead of a list of blocks, or `null` for no
/// content.
enum StoredContent<Block> {
    Text(String),
    Blocks(Vec<Block>),
    Missing,
}

impl<'de, Block: Deserialize<'de>> Deserialize<'de> for StoredContent<Block> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StoredContentVisitor(PhantomData))
    }
}

struct StoredContentVisitor<Block>(PhantomData<Block>);

impl<'de, Block: Deserialize<'de>> Visitor<'de> for StoredContentVisitor<Block> {
    type Value = StoredContent<Block>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or a list of blocks")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(StoredContent::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(StoredContent::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            blocks.push(block);
        }
        Ok(StoredContent::Blocks(blocks))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(StoredContent::Missing)
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match StoredContent::deserialize(deserializer)? {
            StoredContent::Text(text) => Self::Text(text),
            StoredContent::Blocks(blocks) => Self::Blocks(blocks),
            StoredContent::Missing => Self::default(),
        })
    }
}

/// Reads a list of blocks; old files may have `null` or a plain string instead.
pub(crate) fn lenient_blocks<'de, D, Block>(deserializer: D) -> Result<Vec<Block>, D::Error>
where
    D: Deserializer<'de>,
    Block: Deserialize<'de> + From<TextContent>,
{
    Ok(match StoredContent::deserialize(deserializer)? {
        StoredContent::Text(text) => vec![Block::from(TextContent::new(text))],
        StoredContent::Blocks(blocks) => blocks,
        StoredContent::Missing => Vec::new(),
    })
}

impl From<TextContent> for InputBlock {
    fn from(text: TextContent) -> Self {
        Self::Text(text)
    }
}

impl From<TextContent> for AssistantBlock {
    fn from(text: TextContent) -> Self {
        Self::Text(text)
    }
}
