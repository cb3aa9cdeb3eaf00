//! Serializes a conversation as text, so that a model summarizes it instead of continuing it.

use pi_protocol::json::{utf16_length, value_to_string};
use pi_protocol::{
    AssistantBlock, AssistantMessage, InputBlock, Message, MessageContent, ToolCall,
    ToolResultMessage,
};

/// Maximum length of a tool result in a summary request, in UTF-16 code units.
const RESULT_CHARACTERS: usize = 2000;

/// Serializes a conversation, one labeled paragraph per message.
pub fn serialize_conversation(messages: &[Message]) -> String {
    let mut paragraphs = Vec::new();
    for message in messages {
        match message {
            // The system prompt is not part of the conversation.
            Message::System(_) => {}
            Message::User(user) => {
                let text = match &user.content {
                    MessageContent::Text(text) => text.clone(),
                    MessageContent::Blocks(blocks) => concatenated(blocks),
                };
                push(&mut paragraphs, "User", &text);
            }
            Message::Assistant(response) => push_response(&mut paragraphs, response),
            Message::ToolResult(result) => {
                push(&mut paragraphs, "Tool result", &result_text(result));
            }
        }
    }
    paragraphs.join("\n\n")
}

fn push(paragraphs: &mut Vec<String>, label: &str, text: &str) {
    if !text.is_empty() {
        paragraphs.push(format!("[{label}]: {text}"));
    }
}

fn push_response(paragraphs: &mut Vec<String>, response: &AssistantMessage) {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for block in &response.content {
        match block {
            AssistantBlock::Text(block) => texts.push(block.text.as_str()),
            AssistantBlock::ToolCall(call) => calls.push(call_text(call)),
            // Thinking is long, and its conclusions are in the text.
            AssistantBlock::Thinking(_) | AssistantBlock::Unknown(_) => {}
        }
    }
    push(paragraphs, "Assistant", &texts.join("\n"));
    push(paragraphs, "Assistant tool calls", &calls.join("; "));
}

fn call_text(call: &ToolCall) -> String {
    let arguments = call.arguments.iter();
    let arguments: Vec<String> = arguments
        .map(|(name, value)| format!("{name}={}", value_to_string(value)))
        .collect();
    format!("{}({})", call.name, arguments.join(", "))
}

fn result_text(result: &ToolResultMessage) -> String {
    let text = concatenated(&result.content);
    let length = utf16_length(&text);
    if length <= RESULT_CHARACTERS {
        return text;
    }
    let (kept, kept_length) = prefix(&text, RESULT_CHARACTERS);
    let missing = length - kept_length;
    format!("{kept}\n\n[... {missing} more characters truncated]")
}

fn concatenated(blocks: &[InputBlock]) -> String {
    blocks.iter().filter_map(InputBlock::as_text).collect()
}

/// Returns the longest prefix of at most `limit` UTF-16 code units, and its length.
fn prefix(text: &str, limit: usize) -> (&str, usize) {
    let mut length = 0;
    for (position, character) in text.char_indices() {
        let next = length + character.len_utf16();
        if next > limit {
            return (text.get(..position).unwrap_or(text), length);
        }
        length = next;
    }
    (text, length)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    fn serialized(messages: Value) -> String {
        serialize_conversation(&serde_json::from_value::<Vec<Message>>(messages).unwrap())
    }

    #[test]
    fn every_message_is_labeled_and_thinking_is_omitted() {
        let text = serialized(json!([
            {"role": "system", "content": "never"},
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "image", "data": "", "mimeType": "i"}, {"type": "text", "text": "two"}]},
            {"role": "user", "content": ""},
            {"role": "assistant", "content": [
                {"type": "text", "text": "A"}, {"type": "thinking", "thinking": "t1"},
                {"type": "toolCall", "id": "1", "name": "ls", "arguments": {"path": "a b", "n": 2.0, "deep": {"k": [null]}}},
                {"type": "text", "text": "B"}, {"type": "thinking", "thinking": "t2"},
                {"type": "toolCall", "id": "2", "name": "none", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "1", "toolName": "ls", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
            {"role": "toolResult", "toolCallId": "2", "toolName": "none", "content": []},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "redacted": true}]}
        ]));
        assert_eq!(
            text,
            "[User]: onetwo\n\n\
             [Assistant]: A\nB\n\n\
             [Assistant tool calls]: ls(path=\"a b\", n=2, deep={\"k\":[null]}); none()\n\n\
             [Tool result]: xy"
        );
    }

    #[test]
    fn a_long_result_is_truncated_between_characters() {
        let result = |text: String| {
            serialized(json!([{"role": "toolResult", "content": [{"type": "text", "text": text}]}]))
        };
        assert_eq!(
            result("é".repeat(2000)),
            format!("[Tool result]: {}", "é".repeat(2000))
        );
        assert_eq!(
            result("x".repeat(2001)),
            format!(
                "[Tool result]: {}\n\n[... 1 more characters truncated]",
                "x".repeat(2000)
            )
        );
        assert_eq!(
            result(format!("{}😀y", "x".repeat(1999))),
            format!(
                "[Tool result]: {}\n\n[... 3 more characters truncated]",
                "x".repeat(1999)
            )
        );
    }
}
