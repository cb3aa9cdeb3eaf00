//! Replaces the content of a message for the model.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantBlock, InputBlock, MessageContent};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the message with other content; roles that cannot be edited are returned unchanged.
///
/// Content that is neither text nor blocks becomes empty: the edit was meant to hide the original.
pub(crate) fn with_content(message: AgentMessage, content: &Value) -> AgentMessage {
    match message {
        AgentMessage::User(mut user) => {
            Arc::make_mut(&mut user).content = text_or_blocks(content);
            AgentMessage::User(user)
        }
        AgentMessage::Custom(mut custom) => {
            custom.content = text_or_blocks(content);
            AgentMessage::Custom(custom)
        }
        AgentMessage::Assistant(mut response) => {
            Arc::make_mut(&mut response).content = match content {
                Value::String(text) => vec![AssistantBlock::text(text)],
                other => blocks(other),
            };
            AgentMessage::Assistant(response)
        }
        AgentMessage::ToolResult(mut result) => {
            Arc::make_mut(&mut result).content = match content {
                Value::String(text) => vec![InputBlock::text(text)],
                other => blocks(other),
            };
            AgentMessage::ToolResult(result)
        }
        other => other,
    }
}

fn text_or_blocks(content: &Value) -> MessageContent {
    match content {
        Value::String(text) => MessageContent::Text(text.clone()),
        other => MessageContent::Blocks(blocks(other)),
    }
}

fn blocks<Block: DeserializeOwned>(content: &Value) -> Vec<Block> {
    let items = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = items
        .iter()
        .filter_map(|item| Block::deserialize(item).ok());
    read.collect()
}
