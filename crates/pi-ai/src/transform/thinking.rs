//! What becomes of an assistant's blocks when the message is replayed.
//!
//! A signature is only valid for the model that gave it. For that model blocks go back as they
//! came; for any other, thinking turns into plain text and every signature is left behind.

use std::borrow::Cow;

use crate::content::{AssistantBlock, TextContent, ThinkingContent, ToolCall};

/// Who will read the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// The model that wrote it.
    Author,
    Stranger,
}

/// Returns the block as the reader may see it, or nothing when it must not be sent.
pub(super) fn readable(block: &AssistantBlock, reader: Reader) -> Option<Cow<'_, AssistantBlock>> {
    match (block, reader) {
        (AssistantBlock::Thinking(thinking), _) => readable_thinking(block, thinking, reader),
        // A blank text only carried its signature, and services refuse it.
        (AssistantBlock::Text(text), Reader::Stranger) if text.text.trim().is_empty() => None,
        (AssistantBlock::Text(text), Reader::Stranger) if text.text_signature.is_some() => {
            Some(Cow::Owned(AssistantBlock::text(&text.text)))
        }
        (AssistantBlock::ToolCall(call), Reader::Stranger)
            if call.thought_signature.is_some() || call.namespace.is_some() =>
        {
            Some(Cow::Owned(AssistantBlock::ToolCall(ToolCall {
                thought_signature: None,
                namespace: None,
                ..call.clone()
            })))
        }
        (AssistantBlock::Text(_) | AssistantBlock::ToolCall(_), _) => Some(Cow::Borrowed(block)),
        (AssistantBlock::Unknown(_), _) => None,
    }
}

fn readable_thinking<'block>(
    block: &'block AssistantBlock,
    thinking: &ThinkingContent,
    reader: Reader,
) -> Option<Cow<'block, AssistantBlock>> {
    let has_text = !thinking.thinking.trim().is_empty();
    match reader {
        Reader::Author => {
            // Encrypted reasoning has a signature and no text.
            let has_signature = thinking
                .thinking_signature
                .as_deref()
                .is_some_and(|signature| !signature.is_empty());
            (thinking.is_redacted() || has_signature || has_text).then_some(Cow::Borrowed(block))
        }
        Reader::Stranger => (!thinking.is_redacted() && has_text).then(|| {
            Cow::Owned(AssistantBlock::Text(TextContent::new(
                thinking.thinking.as_str(),
            )))
        }),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn signatures_go_back_to_their_author_only() {
        let thinking = |text: &str| json!({"type": "thinking", "thinking": text});
        let signed = json!({"type": "thinking", "thinking": "", "thinkingSignature": "s"});
        let unsigned = json!({"type": "thinking", "thinking": " ", "thinkingSignature": ""});
        let redacted = json!({"type": "thinking", "thinking": "[...]", "thinkingSignature": "s",
            "redacted": true});
        let text = json!({"type": "text", "text": "t", "textSignature": "s"});
        let plain = json!({"type": "text", "text": "t"});
        let call = json!({"type": "toolCall", "id": "i", "name": "n", "arguments": {},
            "thoughtSignature": "s", "namespace": "x"});
        let bare_call = json!({"type": "toolCall", "id": "i", "name": "n", "arguments": {}});
        let blank = json!({"type": "text", "text": "\n", "textSignature": "s"});
        let unknown = json!({"type": "video", "data": "x"});
        let cases: [(&Value, Option<&Value>, Option<&Value>); 9] = [
            (
                &thinking("why"),
                Some(&thinking("why")),
                Some(&json!({"type": "text", "text": "why"})),
            ),
            (&thinking(" \n"), None, None),
            (&signed, Some(&signed), None),
            (&unsigned, None, None),
            (&redacted, Some(&redacted), None),
            (&text, Some(&text), Some(&plain)),
            (&blank, Some(&blank), None),
            (&call, Some(&call), Some(&bare_call)),
            (&unknown, None, None),
        ];
        for (block, for_author, for_stranger) in cases {
            let block: AssistantBlock = serde_json::from_value(block.clone()).unwrap();
            for (reader, expected) in [
                (Reader::Author, for_author),
                (Reader::Stranger, for_stranger),
            ] {
                let seen = readable(&block, reader)
                    .map(|block| serde_json::to_value(block.as_ref()).unwrap());
                assert_eq!(seen.as_ref(), expected, "{reader:?} reads {block:?}");
            }
        }
    }
}
