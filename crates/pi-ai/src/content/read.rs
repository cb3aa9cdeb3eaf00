//! Reads content blocks and lists of them.
//!
//! A long session has hundreds of thousands of blocks, and what `serde` derives for enums like these
//! holds every value in a form of its own before it looks for the type. Here a block is read into an
//! object once, and its type tells what that becomes.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{
    AssistantBlock, MessageContent, ImageContent, InputBlock, TextContent, ThinkingContent, ToolCall,
};
use crate::json::JsonObject;

/// The field that tells the type of a block.
const TYPE: &str = "type";

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

/// Reads a block from the fields beside its type. Where that is none that `read` knows, or a field is
/// not as it should be, the fields are as they were.
fn read_known<Block>(
    fields: &mut JsonObject,
    read: impl FnOnce(&str, &JsonObject) -> Option<Block>,
) -> Option<Block> {
    let place = fields.keys().position(|key| key == TYPE)?;
    let type_name = fields.shift_remove(TYPE)?;
    let block = type_name.as_str().and_then(|name| read(name, fields));
    if block.is_none() {
        fields.shift_insert(place, TYPE.to_owned(), type_name);
    }
    block
}

/// Content as it may be written: old files hold a bare string where blocks are due, or `null` where
/// there is nothing.
enum Written<Block> {
    Text(String),
    Blocks(Vec<Block>),
    Missing,
}

impl<'de, Block: Deserialize<'de>> Deserialize<'de> for Written<Block> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WrittenVisitor(PhantomData))
    }
}

struct WrittenVisitor<Block>(PhantomData<Block>);

impl<'de, Block: Deserialize<'de>> Visitor<'de> for WrittenVisitor<Block> {
    type Value = Written<Block>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or a list of blocks")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Written::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Written::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            blocks.push(block);
        }
        Ok(Written::Blocks(blocks))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Written::Missing)
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => Self::Text(text),
            Written::Blocks(blocks) => Self::Blocks(blocks),
            Written::Missing => Self::default(),
        })
    }
}

/// Reads a list of blocks that an old file may hold as `null` or as a bare string.
pub(crate) fn lenient_blocks<'de, D, Block>(deserializer: D) -> Result<Vec<Block>, D::Error>
where
    D: Deserializer<'de>,
    Block: Deserialize<'de> + From<TextContent>,
{
    Ok(match Written::deserialize(deserializer)? {
        Written::Text(text) => vec![Block::from(TextContent::new(text))],
        Written::Blocks(blocks) => blocks,
        Written::Missing => Vec::new(),
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
