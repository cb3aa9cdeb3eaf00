//! Messages sent by extensions and their delivery options, as received from JavaScript.

use pi_protocol::{Delivery, MessageContent};
use serde::Deserialize;
use serde_json::Value;

use crate::hooks::CustomMessageDraft;
use pi_core::{CustomDelivery, CustomMessageOptions};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DraftData {
    custom_type: String,
    #[serde(default)]
    content: MessageContent,
    #[serde(default)]
    display: bool,
    details: Option<Value>,
}

impl From<DraftData> for CustomMessageDraft {
    fn from(draft: DraftData) -> Self {
        Self {
            custom_type: draft.custom_type,
            content: draft.content,
            display: draft.display,
            details: draft.details,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendMessage {
    message: DraftData,
    #[serde(default)]
    options: SendOptions,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SendOptions {
    trigger_turn: Option<bool>,
    deliver_as: Option<String>,
    expand_prompt_templates: bool,
}

#[derive(Deserialize)]
pub(super) struct SendUserMessage {
    content: MessageContent,
    #[serde(default)]
    options: SendOptions,
}

impl SendMessage {
    pub(super) fn into_parts(self) -> (CustomMessageDraft, CustomMessageOptions) {
        let deliver_as = match self.options.deliver_as.as_deref() {
            Some("steer") => Some(CustomDelivery::Steer),
            Some("followUp") => Some(CustomDelivery::FollowUp),
            Some("nextTurn") => Some(CustomDelivery::NextTurn),
            _ => None,
        };
        let send_message = CustomMessageOptions {
            trigger_turn: self.options.trigger_turn,
            deliver_as,
        };
        (self.message.into(), send_message)
    }
}

impl SendUserMessage {
    pub(super) fn into_parts(self) -> (MessageContent, Option<Delivery>, bool) {
        let delivery = parse_delivery(self.options.deliver_as.as_deref());
        (self.content, delivery, self.options.expand_prompt_templates)
    }
}

/// Parses how a message is delivered to the current run.
pub(super) fn parse_delivery(name: Option<&str>) -> Option<Delivery> {
    match name {
        Some("steer") => Some(Delivery::Steer),
        Some("followUp") => Some(Delivery::FollowUp),
        _ => None,
    }
}
