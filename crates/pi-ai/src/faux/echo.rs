//! The demonstration model: it repeats what it is told, so that a newcomer without a key sees an
//! answer stream.

use super::answer::{FauxResponse, FauxCall};
use crate::content::join_text;
use crate::message::Message;

pub(super) const MODEL_ID: &str = "echo";

/// Answers from the last message alone.
pub(super) fn answer(call: &FauxCall) -> FauxResponse {
    let heard = call.request.messages.iter().rev().find_map(heard_text);
    FauxResponse::text(match heard {
        Some(text) => format!(
            "You said: {text}\n\nI am the built-in echo model. I repeat what I hear and know nothing; \
             choose a model of a provider you have a key for to get real answers."
        ),
        None => "I am the built-in echo model, and nobody has said anything yet.".to_owned(),
    })
}

fn heard_text(message: &Message) -> Option<String> {
    let text = match message {
        Message::User(message) => message.content.joined_text(),
        Message::ToolResult(message) => join_text(&message.content),
        Message::System(_) | Message::Assistant(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}
