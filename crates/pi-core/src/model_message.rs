//! Conversion of the transcript for models.

use pi_protocol::{AgentMessage, Message};

/// Returns the message if models understand its role.
pub fn model_message(message: &AgentMessage) -> Option<Message> {
    match message {
        AgentMessage::System(message) => Some(Message::System(message.clone())),
        AgentMessage::User(message) => Some(Message::User(message.clone())),
        AgentMessage::Assistant(message) => Some(Message::Assistant(message.clone())),
        AgentMessage::ToolResult(message) => Some(Message::ToolResult(message.clone())),
        _ => None,
    }
}
