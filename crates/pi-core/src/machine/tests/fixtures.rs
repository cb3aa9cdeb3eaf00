//! Messages and inputs for tests.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, BashExecutionMessage, CustomMessage, Delivery, Model, SystemMessage, UserMessage,
};
use serde_json::json;

use crate::machine::{
    CustomDelivery, CustomInput, CustomMessageOptions, Input, Machine, PromptInput, Selection,
};
use crate::prompt::{InputSource, Prompt};

pub(super) const STEER: Option<Delivery> = Some(Delivery::Steer);
pub(super) const FOLLOW_UP: Option<Delivery> = Some(Delivery::FollowUp);

/// A machine with a model and the sequential tool `s`.
pub(super) fn machine() -> Machine {
    let model: Model = serde_json::from_value(json!({"id": "m", "name": "m", "api": "a",
        "provider": "p", "baseUrl": "", "reasoning": false, "input": ["text"], "cost": {},
        "contextWindow": 1000, "maxTokens": 100}))
    .unwrap();
    Machine::new(Selection {
        model: Some(Arc::new(model)),
        sequential_tools: vec!["s".to_owned()],
        ..Selection::default()
    })
}

pub(super) fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage {
        content: text.into(),
        ..UserMessage::default()
    })
}

pub(super) fn system() -> AgentMessage {
    AgentMessage::from(SystemMessage::default())
}

pub(super) fn custom_message(text: &str) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        content: text.into(),
        ..CustomMessage::default()
    })
}

pub(super) fn prompt(text: &str) -> Input {
    prompt_as(text, None)
}

pub(super) fn prompt_as(text: &str, delivery: Option<Delivery>) -> Input {
    Input::Prompt(prompt_input(text, delivery))
}

pub(super) fn prompt_input(text: &str, delivery: Option<Delivery>) -> PromptInput {
    PromptInput {
        text: text.to_owned(),
        images: Vec::new(),
        message: user(text),
        delivery,
        source: InputSource::Interactive,
        is_in_hook: false,
    }
}

/// A prompt of a hook.
pub(super) fn hook_prompt(text: &str) -> Input {
    Input::Prompt(PromptInput {
        is_in_hook: true,
        ..prompt_input(text, None)
    })
}

pub(super) fn deferred_prompt(text: &str) -> Input {
    Input::DeferPrompt(Prompt::text(text))
}

pub(super) fn steer(text: &str) -> Input {
    queued(text, text, Delivery::Steer)
}

pub(super) fn follow_up(text: &str) -> Input {
    queued(text, text, Delivery::FollowUp)
}

/// Queues a message that is shown with another text.
pub(super) fn queued(content: &str, shown: &str, delivery: Delivery) -> Input {
    Input::Enqueue {
        message: user(content),
        text: shown.to_owned(),
        delivery,
    }
}

pub(super) fn custom(
    text: &str,
    trigger_turn: Option<bool>,
    deliver_as: Option<CustomDelivery>,
) -> Input {
    Input::SendCustom(CustomInput {
        message: custom_message(text),
        options: CustomMessageOptions {
            trigger_turn,
            deliver_as,
        },
    })
}

pub(super) fn bash(command: &str) -> Input {
    Input::BashFinished(BashExecutionMessage {
        command: command.to_owned(),
        ..BashExecutionMessage::default()
    })
}

/// Returns what identifies a message of a client; `None` for messages of the model and its tools.
pub(super) fn label(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::User(message) => Some(message.content.joined_text()),
        AgentMessage::Custom(message) => Some(message.content.joined_text()),
        AgentMessage::BashExecution(message) => Some(message.command.clone()),
        _ => None,
    }
}

/// Returns the label of the message that an input adds.
pub(super) fn label_of(input: &Input) -> Option<String> {
    match input {
        Input::Prompt(prompt) => Some(prompt.text.clone()),
        Input::DeferPrompt(prompt) => Some(prompt.text.clone()),
        Input::Enqueue { message, .. } => label(message),
        Input::SendCustom(custom) => label(&custom.message),
        Input::BashFinished(message) => Some(message.command.clone()),
        _ => None,
    }
}
