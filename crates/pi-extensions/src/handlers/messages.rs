//! Handles calls that only concern the messages they are given.

use pi_context::{serialize_conversation, to_model_messages};
use pi_ext::HostError;
use pi_protocol::json::JsonObject;
use pi_protocol::overflow::{is_context_overflow, is_recoverable_length};
use pi_protocol::transcript::{current_system_message, system_text};
use pi_protocol::{AgentMessage, AssistantMessage, Message, Model};

use super::Caller;
use crate::calls::MessageCalls;

impl MessageCalls for Caller<'_> {
    fn to_model(&self, messages: Vec<AgentMessage>) -> Result<Vec<Message>, HostError> {
        Ok(to_model_messages(&messages))
    }

    fn serialize(&self, messages: Vec<Message>) -> Result<String, HostError> {
        Ok(serialize_conversation(&messages))
    }

    fn is_overflow(
        &self,
        message: AssistantMessage,
        context_window: u64,
    ) -> Result<bool, HostError> {
        Ok(is_context_overflow(&message, context_window))
    }

    fn is_recoverable(&self, message: AssistantMessage, model: Model) -> Result<bool, HostError> {
        Ok(is_recoverable_length(&message, &model))
    }

    fn parse_partial_json(&self, text: String) -> Result<JsonObject, HostError> {
        Ok(pi_protocol::partial_json::parse_object(&text))
    }

    fn system(&self, messages: Vec<Message>) -> Result<Option<Message>, HostError> {
        Ok(current_system_message(&messages).map(Message::from))
    }

    fn system_text(&self, messages: Vec<Message>) -> Result<Option<String>, HostError> {
        let system = current_system_message(&messages);
        Ok(system.map(|system| system_text(&system)))
    }
}
