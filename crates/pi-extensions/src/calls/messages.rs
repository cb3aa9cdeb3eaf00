//! Calls that only concern the messages they are given.

use pi_protocol::json::JsonObject;
use pi_protocol::{AgentMessage, AssistantMessage, Message, Model};

use super::group::calls;

calls! {
    trait MessageCalls {
        /// Converts messages to the form sent to a model.
        call "messages.toModel" => to_model(messages: Vec<AgentMessage>) -> Vec<Message>;
        /// Converts messages to the text that is summarized.
        call "messages.serialize" => serialize(messages: Vec<Message>) -> String;
        /// Returns whether a response failed because the context was too long.
        call "messages.isOverflow" => is_overflow(
            message: AssistantMessage,
            context_window as "contextWindow": u64,
        ) -> bool;
        /// Returns whether a response that reached the length limit can be continued.
        call "messages.isRecoverable" => is_recoverable(
            message: AssistantMessage,
            model: Model,
        ) -> bool;
        call "messages.parsePartialJson" => parse_partial_json(text: String) -> JsonObject;
        /// Returns the combined effect of all system messages.
        call "messages.system" => system(messages: Vec<Message>) -> Option<Message>;
        call "messages.systemText" => system_text(messages: Vec<Message>) -> Option<String>;
    }
}
