//! Results of event handlers, as returned by JavaScript.

use serde::Deserialize;
use serde_json::Value;

use crate::extensions::prompt_options::ChangedOptions;
use crate::extensions::send_message::DraftData;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StartData {
    pub(super) messages: Vec<DraftData>,
    pub(super) system_prompt: Option<String>,
    pub(super) options: Option<ChangedOptions>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ResultData {
    pub(super) content: Option<Vec<pi_protocol::InputBlock>>,
    pub(super) details: Option<Value>,
    pub(super) is_error: Option<bool>,
    pub(super) usage: Option<pi_protocol::Usage>,
}
