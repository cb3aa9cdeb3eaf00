//! Estimates token counts where no provider has reported them.
//!
//! Four characters are one token, rounded up per message; output limits are computed with 3.5, so
//! that a request fits the window. Characters are UTF-16 code units, so compaction triggers at the
//! same point as in the TypeScript version. The most recent usable assistant message already reports
//! the size of everything before it; only later messages are estimated.

use std::io;

use serde::Serialize;

use crate::content::{AssistantBlock, InputBlock, MessageContent};
use crate::json::{JsFormatter, utf16_length, utf16_units};
use crate::message::{AssistantMessage, Message};
use crate::transcript::system_text;

const CHARACTERS_PER_TOKEN: u64 = 4;

/// Character count of an image, regardless of its size.
const CHARACTERS_PER_IMAGE: u64 = 4800;

/// Estimated size of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextEstimate {
    pub tokens: u64,
    /// Tokens reported by the last usable assistant message.
    pub usage_tokens: u64,
    /// Estimated tokens of the messages after it.
    pub trailing_tokens: u64,
    /// Index of that message.
    pub last_usage_index: Option<usize>,
}

/// Estimates a transcript for the output limit of a request, with 3.5 characters per token.
pub fn context_tokens(messages: &[Message]) -> ContextEstimate {
    let last_usage = last_usage(messages);
    let first_trailing = last_usage.map_or(0, |(index, _)| index + 1);
    let usage_tokens = last_usage.map_or(0, |(_, tokens)| tokens);
    let trailing_tokens = messages
        .iter()
        .skip(first_trailing)
        .map(message_tokens)
        .sum();
    ContextEstimate {
        tokens: usage_tokens.saturating_add(trailing_tokens),
        usage_tokens,
        trailing_tokens,
        last_usage_index: last_usage.map(|(index, _)| index),
    }
}

/// Returns the index and token count of the most recent assistant message whose usage covers the
/// messages before it.
fn last_usage(messages: &[Message]) -> Option<(usize, u64)> {
    let mut newest_before = i64::MIN;
    let mut last = None;
    for (index, message) in messages.iter().enumerate() {
        // An assistant message older than a preceding message was generated for a different prefix:
        // a summary was inserted before it.
        if let Message::Assistant(assistant) = message
            && assistant.timestamp >= newest_before
            && !assistant.stop_reason.is_failure()
            && assistant.usage.context_tokens() > 0
        {
            last = Some((index, assistant.usage.context_tokens()));
        }
        newest_before = newest_before.max(message.timestamp());
    }
    last
}

fn message_tokens(message: &Message) -> u64 {
    match message {
        Message::System(system) => {
            limit_tokens(characters(&system_text(system)))
                + list_tokens(system.tools_added.as_deref())
                + list_tokens(system.tools_removed.as_deref())
        }
        Message::User(user) => limit_tokens(content_characters(&user.content)),
        Message::ToolResult(result) => limit_tokens(blocks_characters(&result.content)),
        Message::Assistant(message) => limit_tokens(assistant_characters(message)),
    }
}

/// Converts characters to tokens with 3.5 characters per token.
fn limit_tokens(characters: u64) -> u64 {
    characters.saturating_mul(2).div_ceil(7)
}

/// Estimates the tokens of text, thinking and tool calls.
pub fn assistant_tokens(message: &AssistantMessage) -> u64 {
    character_tokens(assistant_characters(message))
}

fn assistant_characters(message: &AssistantMessage) -> u64 {
    message.content.iter().map(assistant_block_characters).sum()
}

pub fn content_tokens(content: &MessageContent) -> u64 {
    character_tokens(content_characters(content))
}

fn content_characters(content: &MessageContent) -> u64 {
    match content {
        MessageContent::Text(text) => characters(text),
        MessageContent::Blocks(blocks) => blocks_characters(blocks),
    }
}

pub fn text_tokens(text: &str) -> u64 {
    character_tokens(characters(text))
}

pub fn blocks_tokens(blocks: &[InputBlock]) -> u64 {
    character_tokens(blocks_characters(blocks))
}

fn blocks_characters(blocks: &[InputBlock]) -> u64 {
    let block_characters = |block: &InputBlock| match block {
        InputBlock::Text(text) => characters(&text.text),
        InputBlock::Image(_) => CHARACTERS_PER_IMAGE,
        InputBlock::Unknown(_) => 0,
    };
    blocks.iter().map(block_characters).sum()
}

fn assistant_block_characters(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text(text) => characters(&text.text),
        AssistantBlock::Thinking(thinking) => characters(&thinking.thinking),
        AssistantBlock::ToolCall(call) => characters(&call.name) + json_characters(&call.arguments),
        AssistantBlock::Unknown(_) => 0,
    }
}

fn list_tokens<T: Serialize>(list: Option<&[T]>) -> u64 {
    match list {
        Some(list) if !list.is_empty() => limit_tokens(json_characters(list)),
        Some(_) | None => 0,
    }
}

/// Converts a number of UTF-16 code units to estimated tokens.
pub fn character_tokens(characters: u64) -> u64 {
    characters.div_ceil(CHARACTERS_PER_TOKEN)
}

fn characters(text: &str) -> u64 {
    utf16_length(text) as u64
}

/// Counts the characters of a value's JSON serialization without storing it.
fn json_characters<T: Serialize + ?Sized>(value: &T) -> u64 {
    struct Counter(u64);

    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += utf16_units(bytes) as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut serializer = serde_json::Serializer::with_formatter(Counter(0), JsFormatter);
    match value.serialize(&mut serializer) {
        Ok(()) => serializer.into_inner().0,
        // Serialization fails only for maps with non-string keys, which are never counted here.
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;
    use crate::json::value_to_string;

    fn messages(value: Value) -> Vec<Message> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn characters_round_up_to_tokens_per_message() {
        let tools = json!([{"name": "é", "description": "😀", "parameters": {"type": "object"}}]);
        let tools_length = value_to_string(&tools).encode_utf16().count() as u64;
        let cases = [
            (json!({"role": "user", "content": ""}), 0),
            (json!({"role": "user", "content": "abcdefg"}), 2),
            (json!({"role": "user", "content": "😀😀é"}), 2),
            (
                json!({"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
                {"type": "video"}]}),
                1372,
            ),
            (
                json!({"role": "toolResult", "toolCallId": "c", "toolName": "t",
                "content": [{"type": "text", "text": "abcd"}, {"type": "text", "text": "e"}]}),
                2,
            ),
            (
                json!({"role": "assistant", "content": [
                {"type": "text", "text": "ab"}, {"type": "thinking", "thinking": "cd"},
                {"type": "toolCall", "id": "ignored", "name": "ls", "arguments": {"n": 1.0}}]}),
                4,
            ),
            (
                json!({"role": "system", "content": "abcde", "sections": {"x": "y", "gone": null},
                "toolsAdded": tools, "toolsRemoved": []}),
                3 + (tools_length * 2).div_ceil(7),
            ),
        ];
        for (message, expected) in cases {
            let message: Message = serde_json::from_value(message).unwrap();
            assert_eq!(message_tokens(&message), expected, "{message:?}");
        }
    }

    #[test]
    fn latest_usable_usage_covers_everything_before_it() {
        let assistant = |total: u64, reason: &str, time: i64| {
            json!({"role": "assistant", "content": [], "stopReason": reason, "timestamp": time,
                "usage": {"totalTokens": total}})
        };
        let user = |time: i64| json!({"role": "user", "content": "abcd", "timestamp": time});
        let estimate = |list: Value| context_tokens(&messages(list));

        let counted = estimate(json!([
            user(1),
            assistant(100, "stop", 2),
            user(3),
            user(4)
        ]));
        let expected = ContextEstimate {
            tokens: 104,
            usage_tokens: 100,
            trailing_tokens: 4,
            last_usage_index: Some(1),
        };
        assert_eq!(counted, expected);

        let failed = estimate(json!([
            user(1),
            assistant(100, "stop", 2),
            assistant(900, "error", 3),
            assistant(900, "aborted", 4),
            assistant(0, "stop", 5)
        ]));
        assert_eq!(failed.last_usage_index, Some(1));

        let summary_came_later = estimate(json!([user(9), assistant(100, "stop", 2)]));
        assert_eq!(
            (
                summary_came_later.tokens,
                summary_came_later.last_usage_index
            ),
            (2, None)
        );
    }
}
