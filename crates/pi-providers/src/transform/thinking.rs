//! Adapts the content blocks of an assistant message for replay.
//!
//! A signature is only valid for the model that issued it. That model gets its blocks back
//! unchanged; for any other, thinking and every signature are dropped. Readable thinking is dropped,
//! too: sent as text, the other model would take it for a part of the visible response.

use std::borrow::Cow;

use pi_protocol::{AssistantBlock, ThinkingContent, ToolCall};

/// The model that a block is replayed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recipient {
    /// The model that wrote it.
    SameModel,
    OtherModel,
}

/// Returns the block to replay, or `None` if it must not be sent.
pub(super) fn replay_block(
    block: &AssistantBlock,
    recipient: Recipient,
) -> Option<Cow<'_, AssistantBlock>> {
    match (block, recipient) {
        (AssistantBlock::Thinking(_), Recipient::OtherModel) | (AssistantBlock::Unknown(_), _) => {
            None
        }
        (AssistantBlock::Thinking(thinking), Recipient::SameModel) => {
            is_replayable(thinking).then_some(Cow::Borrowed(block))
        }
        // A blank text only carried its signature, and services reject it.
        (AssistantBlock::Text(text), Recipient::OtherModel) if text.text.trim().is_empty() => None,
        (AssistantBlock::Text(text), Recipient::OtherModel) if text.text_signature.is_some() => {
            Some(Cow::Owned(AssistantBlock::text(&text.text)))
        }
        (AssistantBlock::ToolCall(call), Recipient::OtherModel)
            if call.thought_signature.is_some() || call.namespace.is_some() =>
        {
            Some(Cow::Owned(AssistantBlock::ToolCall(ToolCall {
                thought_signature: None,
                namespace: None,
                ..call.clone()
            })))
        }
        (AssistantBlock::Text(_) | AssistantBlock::ToolCall(_), _) => Some(Cow::Borrowed(block)),
    }
}

/// Returns whether a block has anything to replay: encrypted reasoning has a signature and no text.
fn is_replayable(thinking: &ThinkingContent) -> bool {
    let has_signature = thinking
        .thinking_signature
        .as_deref()
        .is_some_and(|signature| !signature.is_empty());
    thinking.is_redacted() || has_signature || !thinking.thinking.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn signatures_are_replayed_to_the_same_model_only() {
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
            (&thinking("why"), Some(&thinking("why")), None),
            (&thinking(" \n"), None, None),
            (&signed, Some(&signed), None),
            (&unsigned, None, None),
            (&redacted, Some(&redacted), None),
            (&text, Some(&text), Some(&plain)),
            (&blank, Some(&blank), None),
            (&call, Some(&call), Some(&bare_call)),
            (&unknown, None, None),
        ];
        for (block, for_same_model, for_other_model) in cases {
            let block: AssistantBlock = serde_json::from_value(block.clone()).unwrap();
            for (recipient, expected) in [
                (Recipient::SameModel, for_same_model),
                (Recipient::OtherModel, for_other_model),
            ] {
                let seen = replay_block(&block, recipient)
                    .map(|block| serde_json::to_value(block.as_ref()).unwrap());
                assert_eq!(seen.as_ref(), expected, "{recipient:?} reads {block:?}");
            }
        }
    }
}
