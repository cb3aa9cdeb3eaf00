//! Messages sent by extensions and their delivery options, as received from JavaScript.

use pi_protocol::MessageContent;
use serde::Deserialize;
use serde_json::Value;

use crate::control::MessageDelivery;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DraftData {
    pub custom_type: String,
    #[serde(default)]
    pub content: MessageContent,
    #[serde(default)]
    pub display: bool,
    pub details: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SendOptions {
    pub trigger_turn: Option<bool>,
    deliver_as: Option<String>,
    pub expand_prompt_templates: bool,
}

impl SendOptions {
    /// Returns how the message is delivered to a session that is busy.
    pub fn delivery(&self) -> Option<MessageDelivery> {
        parse_delivery(self.deliver_as.as_deref())
    }
}

/// Parses how a message is delivered; unknown names are ignored.
pub(crate) fn parse_delivery(name: Option<&str>) -> Option<MessageDelivery> {
    match name {
        Some("steer") => Some(MessageDelivery::Steer),
        Some("followUp") => Some(MessageDelivery::FollowUp),
        Some("nextTurn") => Some(MessageDelivery::NextTurn),
        _ => None,
    }
}
