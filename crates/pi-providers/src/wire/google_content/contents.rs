//! Converts the transcript to Google's `contents`: turns of `user` and `model`, each a list of parts.

use std::borrow::Cow;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AssistantBlock, AssistantMessage, ImageContent, InputBlock, Message, MessageContent, Model,
    ToolResultMessage, UserMessage, join_text,
};
use serde::Serialize;

use super::family::{accepts_images_in_responses, requires_call_ids};

/// Text of a tool result that contains only images.
const IMAGE_ATTACHED: &str = "(see attached image)";

/// Introduces the images of a tool result in a separate turn.
const TOOL_IMAGE_LABEL: &str = "Tool result image:";

#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    pub parts: Vec<RequestPart<'a>>,
    pub role: &'static str,
}

impl<'a> Turn<'a> {
    pub(super) fn user(parts: Vec<RequestPart<'a>>) -> Self {
        Self {
            parts,
            role: "user",
        }
    }

    fn has_responses(&self) -> bool {
        self.parts
            .iter()
            .any(|part| part.function_response.is_some())
    }
}

/// A part of a turn: exactly one kind of data, with an optional signature.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<RequestFunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Debug, Serialize)]
struct RequestFunctionCall<'a> {
    name: &'a str,
    args: &'a JsonObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct FunctionResponse<'a> {
    name: &'a str,
    response: FunctionOutcome,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<RequestPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum FunctionOutcome {
    Output(String),
    Error(String),
}

impl<'a> RequestPart<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    fn image(image: &'a ImageContent) -> Self {
        Self {
            inline_data: Some(Blob {
                mime_type: &image.mime_type,
                data: &image.data,
            }),
            ..Self::default()
        }
    }
}

/// Converts a transcript that was handed off to this model.
pub(super) fn contents<'a>(messages: &'a [Cow<'_, Message>], model: &Model) -> Vec<Turn<'a>> {
    let mut turns = TurnBuilder::default();
    for message in messages {
        match message.as_ref() {
            // The prompt is the request's `systemInstruction`; later system messages are merged into it.
            Message::System(_) => {}
            Message::User(message) => turns.add(user_turn(message)),
            Message::Assistant(message) => turns.add(model_turn(message, model)),
            Message::ToolResult(message) => turns.add_tool_result(message, model),
        }
    }
    turns.finish()
}

#[derive(Default)]
struct TurnBuilder<'a> {
    contents: Vec<Turn<'a>>,
    /// Images of tool results, deferred until all results of the turn are added.
    deferred_images: Vec<RequestPart<'a>>,
}

impl<'a> TurnBuilder<'a> {
    fn add(&mut self, content: Option<Turn<'a>>) {
        if let Some(content) = content {
            self.flush_images();
            self.contents.push(content);
        }
    }

    fn finish(mut self) -> Vec<Turn<'a>> {
        self.flush_images();
        self.contents
    }

    fn flush_images(&mut self) {
        if !self.deferred_images.is_empty() {
            let parts = std::mem::take(&mut self.deferred_images);
            self.contents.push(Turn::user(parts));
        }
    }

    /// Adds a tool result. The API requires all responses to one turn's calls in one turn.
    fn add_tool_result(&mut self, message: &'a ToolResultMessage, model: &Model) {
        let images: Vec<RequestPart<'a>> = message
            .content
            .iter()
            .filter(|_| model.accepts_images())
            .filter_map(|block| match block {
                InputBlock::Image(image) => Some(RequestPart::image(image)),
                InputBlock::Text(_) | InputBlock::Unknown(_) => None,
            })
            .collect();
        let mut text = join_text(&message.content).into_owned();
        if text.trim().is_empty() {
            let notice = if images.is_empty() {
                ""
            } else {
                IMAGE_ATTACHED
            };
            notice.clone_into(&mut text);
        }
        let mut response = FunctionResponse {
            name: &message.tool_name,
            response: if message.is_error {
                FunctionOutcome::Error(text)
            } else {
                FunctionOutcome::Output(text)
            },
            parts: Vec::new(),
            id: requires_call_ids(&model.id).then_some(message.tool_call_id.as_str()),
        };
        if accepts_images_in_responses(&model.id) {
            response.parts = images;
        } else if !images.is_empty() {
            self.deferred_images
                .push(RequestPart::text(TOOL_IMAGE_LABEL));
            self.deferred_images.extend(images);
        }
        let part = RequestPart {
            function_response: Some(response),
            ..RequestPart::default()
        };
        match self.contents.last_mut() {
            Some(last) if last.has_responses() => last.parts.push(part),
            _ => self.contents.push(Turn::user(vec![part])),
        }
    }
}

fn user_turn(message: &UserMessage) -> Option<Turn<'_>> {
    let parts: Vec<RequestPart<'_>> = match &message.content {
        MessageContent::Text(text) => vec![RequestPart::text(text)],
        MessageContent::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                InputBlock::Text(block) => Some(RequestPart::text(&block.text)),
                InputBlock::Image(image) => Some(RequestPart::image(image)),
                InputBlock::Unknown(_) => None,
            })
            .collect(),
    };
    (!parts.is_empty()).then(|| Turn::user(parts))
}

fn model_turn<'a>(message: &'a AssistantMessage, model: &Model) -> Option<Turn<'a>> {
    let parts: Vec<RequestPart<'a>> = message
        .content
        .iter()
        .filter_map(|block| model_part(block, model))
        .collect();
    (!parts.is_empty()).then_some(Turn {
        parts,
        role: "model",
    })
}

/// A signature may be on a part without text, and the model loses its reasoning state if that
/// part is not replayed; empty parts without one are dropped.
fn model_part<'a>(block: &'a AssistantBlock, model: &Model) -> Option<RequestPart<'a>> {
    let (text, signature, thought) = match block {
        AssistantBlock::Text(block) => (&block.text, &block.text_signature, None),
        AssistantBlock::Thinking(block) => (&block.thinking, &block.thinking_signature, Some(true)),
        AssistantBlock::ToolCall(call) => {
            return Some(RequestPart {
                function_call: Some(RequestFunctionCall {
                    name: &call.name,
                    args: &call.arguments,
                    id: requires_call_ids(&model.id).then_some(call.id.as_str()),
                }),
                thought_signature: valid_signature(call.thought_signature.as_deref()),
                ..RequestPart::default()
            });
        }
        AssistantBlock::Unknown(_) => return None,
    };
    let thought_signature = valid_signature(signature.as_deref());
    if text.trim().is_empty() && thought_signature.is_none() {
        return None;
    }
    Some(RequestPart {
        thought,
        thought_signature,
        ..RequestPart::text(text)
    })
}

/// The API decodes signatures as base64 and rejects the request if one is invalid.
fn valid_signature(signature: Option<&str>) -> Option<&str> {
    signature.filter(|signature| {
        let digits = signature.trim_end_matches('=');
        let padding = signature.len() - digits.len();
        !digits.is_empty()
            && padding <= 2
            && signature.len() % 4 == 0
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_base64_signatures_are_replayed() {
        let cases = [
            ("c2ln", true),
            ("c2lnZA==", true),
            ("a+/=", true),
            ("c2l", false),
            ("====", false),
            ("c===", false),
            ("c2l-", false),
            ("", false),
            ("reasoning_content", false),
        ];
        for (signature, valid) in cases {
            assert_eq!(
                valid_signature(Some(signature)).is_some(),
                valid,
                "{signature}"
            );
        }
    }
}
