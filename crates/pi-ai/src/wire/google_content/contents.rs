//! The transcript as Google's `contents`: turns of `user` and `model`, each a list of parts.

use std::borrow::Cow;

use serde::Serialize;

use super::family::{accepts_images_in_responses, requires_call_ids};
use crate::content::{
    AssistantBlock, MessageContent, ImageContent, InputBlock, join_text,
};
use crate::json::JsonObject;
use crate::message::{AssistantMessage, Message, ToolResultMessage, UserMessage};
use crate::model::Model;

/// Stands for the text of a tool result that is images alone.
const IMAGES_ONLY: &str = "(the result is the attached image)";

/// Introduces the images of a tool result in a turn of their own.
const IMAGES_FOLLOW: &str = "Image returned by the tool:";

/// One turn.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub parts: Vec<Part<'a>>,
    pub role: &'static str,
}

impl<'a> Content<'a> {
    pub(super) fn user(parts: Vec<Part<'a>>) -> Self {
        Self {
            parts,
            role: "user",
        }
    }

    fn holds_responses(&self) -> bool {
        self.parts
            .iter()
            .any(|part| part.function_response.is_some())
    }
}

/// One part of a turn: exactly one kind of data, and perhaps a signature.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
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
struct FunctionCall<'a> {
    name: &'a str,
    args: &'a JsonObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct FunctionResponse<'a> {
    name: &'a str,
    response: Outcome,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Output(String),
    Error(String),
}

impl<'a> Part<'a> {
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

/// Returns the turns of a transcript that is ready for this model.
pub(super) fn contents<'a>(messages: &'a [Cow<'_, Message>], model: &Model) -> Vec<Content<'a>> {
    let mut turns = Turns::default();
    for message in messages {
        match message.as_ref() {
            // The prompt is the request's `systemInstruction`; later ones were replayed into it.
            Message::System(_) => {}
            Message::User(message) => turns.add(user_turn(message)),
            Message::Assistant(message) => turns.add(model_turn(message, model)),
            Message::ToolResult(message) => turns.add_tool_result(message, model),
        }
    }
    turns.finish()
}

/// The turns so far.
#[derive(Default)]
struct Turns<'a> {
    contents: Vec<Content<'a>>,
    /// Images of tool results that must wait until all results of the turn are there.
    held_images: Vec<Part<'a>>,
}

impl<'a> Turns<'a> {
    fn add(&mut self, content: Option<Content<'a>>) {
        if let Some(content) = content {
            self.release_images();
            self.contents.push(content);
        }
    }

    fn finish(mut self) -> Vec<Content<'a>> {
        self.release_images();
        self.contents
    }

    fn release_images(&mut self) {
        if !self.held_images.is_empty() {
            let parts = std::mem::take(&mut self.held_images);
            self.contents.push(Content::user(parts));
        }
    }

    /// Adds a tool result. The API wants all responses to one turn's calls in one turn.
    fn add_tool_result(&mut self, message: &'a ToolResultMessage, model: &Model) {
        let images: Vec<Part<'a>> = message
            .content
            .iter()
            .filter(|_| model.accepts_images())
            .filter_map(|block| match block {
                InputBlock::Image(image) => Some(Part::image(image)),
                InputBlock::Text(_) | InputBlock::Unknown(_) => None,
            })
            .collect();
        let mut text = join_text(&message.content);
        if text.is_empty() && !images.is_empty() {
            IMAGES_ONLY.clone_into(&mut text);
        }
        let mut response = FunctionResponse {
            name: &message.tool_name,
            response: if message.is_error {
                Outcome::Error(text)
            } else {
                Outcome::Output(text)
            },
            parts: Vec::new(),
            id: requires_call_ids(&model.id).then_some(message.tool_call_id.as_str()),
        };
        if accepts_images_in_responses(&model.id) {
            response.parts = images;
        } else if !images.is_empty() {
            self.held_images.push(Part::text(IMAGES_FOLLOW));
            self.held_images.extend(images);
        }
        let part = Part {
            function_response: Some(response),
            ..Part::default()
        };
        match self.contents.last_mut() {
            Some(last) if last.holds_responses() => last.parts.push(part),
            _ => self.contents.push(Content::user(vec![part])),
        }
    }
}

fn user_turn(message: &UserMessage) -> Option<Content<'_>> {
    let parts: Vec<Part<'_>> = match &message.content {
        MessageContent::Text(text) => vec![Part::text(text)],
        MessageContent::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                InputBlock::Text(block) => Some(Part::text(&block.text)),
                InputBlock::Image(image) => Some(Part::image(image)),
                InputBlock::Unknown(_) => None,
            })
            .collect(),
    };
    (!parts.is_empty()).then(|| Content::user(parts))
}

fn model_turn<'a>(message: &'a AssistantMessage, model: &Model) -> Option<Content<'a>> {
    let parts: Vec<Part<'a>> = message
        .content
        .iter()
        .filter_map(|block| model_part(block, model))
        .collect();
    (!parts.is_empty()).then_some(Content {
        parts,
        role: "model",
    })
}

/// A signature may sit on a part without text, and the model loses its train of thought when that
/// part is not sent back; empty parts without one are dropped.
fn model_part<'a>(block: &'a AssistantBlock, model: &Model) -> Option<Part<'a>> {
    let (text, signature, thought) = match block {
        AssistantBlock::Text(block) => (&block.text, &block.text_signature, None),
        AssistantBlock::Thinking(block) => (&block.thinking, &block.thinking_signature, Some(true)),
        AssistantBlock::ToolCall(call) => {
            return Some(Part {
                function_call: Some(FunctionCall {
                    name: &call.name,
                    args: &call.arguments,
                    id: requires_call_ids(&model.id).then_some(call.id.as_str()),
                }),
                thought_signature: valid_signature(call.thought_signature.as_deref()),
                ..Part::default()
            });
        }
        AssistantBlock::Unknown(_) => return None,
    };
    let thought_signature = valid_signature(signature.as_deref());
    if text.trim().is_empty() && thought_signature.is_none() {
        return None;
    }
    Some(Part {
        thought,
        thought_signature,
        ..Part::text(text)
    })
}

/// The API decodes signatures as base64 and refuses the request when one is not.
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
    fn only_base64_signatures_are_sent_back() {
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
