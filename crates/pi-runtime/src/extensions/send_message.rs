//! Messages sent by extensions and their delivery options, as received from JavaScript.

use pi_protocol::MessageContent;
use serde::Deserialize;
use serde_json::Value;

use super::control::MessageDelivery;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DraftData {
    pub(crate) custom_type: String,
    #[serde(default)]
    pub(crate) content: MessageContent,
    #[serde(default)]
    pub(crate) display: bool,
    pub(crate) details: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SendOptions {
    pub(crate) trigger_turn: Option<bool>,
    deliver_as: Option<String>,
    pub(crate) expand_prompt_templates: bool,
}

impl SendOptions {
    /// Returns how the message is delivered to a session that is busy.
    pub(crate) fn delivery(&self) -> Option<MessageDelivery> {
        parse_delivery(self.deliver_as.as_deref())
    }
}

/// Parses how a message is delivered; unknown names are ignored.
pub(super) fn parse_delivery(name: Option<&str>) -> Option<MessageDelivery> {
    match name {
        Some("steer") => Some(MessageDelivery::Steer),
        Some("followUp") => Some(MessageDelivery::FollowUp),
        Some("nextTurn") => Some(MessageDelivery::NextTurn),
        _ => None,
    }
}
