//! Messages that extensions put in, as JavaScript gives them.

use pi_ai::Content;
use serde::Deserialize;
use serde_json::Value;

use crate::hooks::CustomDraft;
use crate::session::{CustomDelivery, CustomSending, Delivery};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageData {
    custom_type: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    display: bool,
    details: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendMessage {
    message: MessageData,
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
    content: Content,
    #[serde(default)]
    options: SendOptions,
}

impl SendMessage {
    pub(super) fn into_parts(self) -> (CustomDraft, CustomSending) {
        let draft = CustomDraft {
            custom_type: self.message.custom_type,
            content: self.message.content,
            display: self.message.display,
            details: self.message.details,
        };
        let deliver_as = match self.options.deliver_as.as_deref() {
            Some("steer") => Some(CustomDelivery::Steer),
            Some("followUp") => Some(CustomDelivery::FollowUp),
            Some("nextTurn") => Some(CustomDelivery::NextTurn),
            _ => None,
        };
        let sending = CustomSending {
            trigger_turn: self.options.trigger_turn,
            deliver_as,
        };
        (draft, sending)
    }
}

impl SendUserMessage {
    pub(super) fn into_parts(self) -> (Content, Option<Delivery>, bool) {
        let delivery = match self.options.deliver_as.as_deref() {
            Some("steer") => Some(Delivery::Steer),
            Some("followUp") => Some(Delivery::FollowUp),
            _ => None,
        };
        (self.content, delivery, self.options.expand_prompt_templates)
    }
}
