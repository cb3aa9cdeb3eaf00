//! Estimates the tokens of messages where no provider has counted them.
//!
//! Four characters make a token, rounded up per message; a character is what JavaScript counts, so
//! that compaction starts at the same point as in the TypeScript pi. The newest usable answer
//! already counted everything before it; only what follows is estimated.

use std::io;

use serde::Serialize;

use crate::content::{AssistantBlock, MessageContent, InputBlock};
use crate::json::{JsFormatter, utf16_length, utf16_units};
use crate::message::{AssistantMessage, Message};
use crate::transcript::system_text;

const CHARACTERS_PER_TOKEN: u64 = 4;

/// What an image counts for, whatever its size.
const CHARACTERS_PER_IMAGE: u64 = 4800;

/// How many tokens a transcript takes, and what that rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextEstimate {
    pub tokens: u64,
    /// What the last usable answer reported.
    pub usage_tokens: u64,
    /// The estimate of what came after it.
    pub trailing_tokens: u64,
    /// The index of that answer.
    pub last_usage_index: Option<usize>,
}

/// Estimates the tokens of a transcript.
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

/// Returns index and tokens of the newest answer whose usage describes the transcript before it.
fn last_usage(messages: &[Message]) -> Option<(usize, u64)> {
    let mut newest_before = i64::MIN;
    let mut last = None;
    for (index, message) in messages.iter().enumerate() {
        // An answer older than something before it was given to another prefix: a summary was put
        // in front of it.
        if let Message::Assistant(answer) = message
            && answer.timestamp >= newest_before
            && !answer.stop_reason.is_failure()
            && answer.usage.context_tokens() > 0
        {
            last = Some((index, answer.usage.context_tokens()));
        }
        newest_before = newest_before.max(message.timestamp());
    }
    last
}

/// Estimates the tokens of one message.
pub fn message_tokens(message: &Message) -> u64 {
    match message {
        Message::System(system) => {
            text_tokens(&system_text(system))
                + list_tokens(system.tools_added.as_deref())
                + list_tokens(system.tools_removed.as_deref())
        }
        Message::User(user) => content_tokens(&user.content),
        Message::ToolResult(result) => blocks_tokens(&result.content),
        Message::Assistant(answer) => assistant_tokens(answer),
    }
}

/// Estimates the tokens of an answer: text, thinking and calls.
pub fn assistant_tokens(answer: &AssistantMessage) -> u64 {
    character_tokens(answer.content.iter().map(assistant_block_characters).sum())
}

/// Estimates the tokens of what a user or an extension said.
pub fn content_tokens(content: &MessageContent) -> u64 {
    match content {
        MessageContent::Text(text) => text_tokens(text),
        MessageContent::Blocks(blocks) => blocks_tokens(blocks),
    }
}

/// Estimates the tokens of a text.
pub fn text_tokens(text: &str) -> u64 {
    character_tokens(characters(text))
}

/// Estimates the tokens of texts and images.
pub fn blocks_tokens(blocks: &[InputBlock]) -> u64 {
    let block_characters = |block: &InputBlock| match block {
        InputBlock::Text(text) => characters(&text.text),
        InputBlock::Image(_) => CHARACTERS_PER_IMAGE,
        InputBlock::Unknown(_) => 0,
    };
    character_tokens(blocks.iter().map(block_characters).sum())
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
        Some(list) if !list.is_empty() => character_tokens(json_characters(list)),
        Some(_) | None => 0,
    }
}

/// Estimates the tokens of so many characters, counted as JavaScript counts them.
pub fn character_tokens(characters: u64) -> u64 {
    characters.div_ceil(CHARACTERS_PER_TOKEN)
}

fn characters(text: &str) -> u64 {
    utf16_length(text) as u64
}

/// Counts the characters of a value's JSON text without writing it anywhere.
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
        // Only a map with keys that are no strings fails, and none is counted here.
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
            (json!({"role": "user", "content": "abcde"}), 2),
            (json!({"role": "user", "content": "😀😀é"}), 2),
            (
                json!({"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "AAAAAAAA", "mimeType": "image/png"},
                {"type": "video"}]}),
                1201,
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
                2 + tools_length.div_ceil(4),
            ),
        ];
        for (message, expected) in cases {
            let message: Message = serde_json::from_value(message).unwrap();
            assert_eq!(message_tokens(&message), expected, "{message:?}");
        }
    }

    #[test]
    fn the_newest_usable_answer_counts_for_everything_before_it() {
        let answer = |total: u64, reason: &str, time: i64| {
            json!({"role": "assistant", "content": [], "stopReason": reason, "timestamp": time,
                "usage": {"totalTokens": total}})
        };
        let user = |time: i64| json!({"role": "user", "content": "abcd", "timestamp": time});
        let estimate = |list: Value| context_tokens(&messages(list));

        let counted = estimate(json!([user(1), answer(100, "stop", 2), user(3), user(4)]));
        let expected = ContextEstimate {
            tokens: 102,
            usage_tokens: 100,
            trailing_tokens: 2,
            last_usage_index: Some(1),
        };
        assert_eq!(counted, expected);

        let failed = estimate(json!([
            user(1),
            answer(100, "stop", 2),
            answer(900, "error", 3),
            answer(900, "aborted", 4),
            answer(0, "stop", 5)
        ]));
        assert_eq!(failed.last_usage_index, Some(1));

        let summary_came_later = estimate(json!([user(9), answer(100, "stop", 2)]));
        assert_eq!(
            (
                summary_came_later.tokens,
                summary_came_later.last_usage_index
            ),
            (1, None)
        );
    }
}
