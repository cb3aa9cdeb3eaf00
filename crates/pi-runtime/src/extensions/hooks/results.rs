//! What handlers return, as JavaScript gives it.

use serde::Deserialize;
use serde_json::Value;

use crate::extensions::prompt_options::ChangedOptions;
use crate::hooks::CustomDraft;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DraftData {
    pub(super) custom_type: String,
    #[serde(default)]
    pub(super) content: pi_ai::Content,
    #[serde(default)]
    pub(super) display: bool,
    pub(super) details: Option<Value>,
}

impl From<DraftData> for CustomDraft {
    fn from(draft: DraftData) -> Self {
        Self {
            custom_type: draft.custom_type,
            content: draft.content,
            display: draft.display,
            details: draft.details,
        }
    }
}

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
    pub(super) content: Option<Vec<pi_ai::InputBlock>>,
    pub(super) details: Option<Value>,
    pub(super) is_error: Option<bool>,
    pub(super) usage: Option<pi_ai::Usage>,
}
