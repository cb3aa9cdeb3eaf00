//! The demo model, which repeats the user's message, so new users without an API key can see a
//! streamed response.

use pi_protocol::{Message, join_text};

use super::response::{FauxCall, FauxResponse};

pub(super) const MODEL_ID: &str = "echo";

/// Responds to the last user message or tool result.
pub(super) fn respond(call: &FauxCall) -> FauxResponse {
    let message = call.request.messages.iter().rev().find_map(message_text);
    FauxResponse::text(match message {
        Some(text) => format!(
            "You said: {text}\n\nI am the built-in echo model and only repeat your messages; \
             choose a model from a provider you have configured to get real responses."
        ),
        None => "I am the built-in echo model. There is no message to repeat yet.".to_owned(),
    })
}

fn message_text(message: &Message) -> Option<String> {
    let text = match message {
        Message::User(message) => message.content.joined_text(),
        Message::ToolResult(message) => join_text(&message.content).into_owned(),
        Message::System(_) | Message::Assistant(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}
