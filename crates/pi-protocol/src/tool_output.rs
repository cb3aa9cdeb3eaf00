//! The result of a tool call, as events carry it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::InputBlock;
use crate::json::{JsonObject, present};
use crate::usage::Usage;

/// A final or partial result of a tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    #[serde(default)]
    pub content: Vec<InputBlock>,
    /// Data for the application; not sent to the model.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    /// The result as data, for programs that call the tool; neither stored nor sent to the model.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<Value>,
    /// Whether the tool failed and still has a result of its own making.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Tokens used by the tool itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Requests the end of the run after this batch. The run ends only if every result of the batch
    /// requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminate: Option<bool>,
}

/// Result of calls that were canceled before they ran.
const ABORTED_CALL: &str = "Operation aborted";

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![InputBlock::text(text)],
            ..Self::default()
        }
    }

    /// Creates the result of a call that was canceled before it ran.
    pub fn aborted() -> Self {
        Self::failure(ABORTED_CALL)
    }

    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            details: Some(Value::Object(JsonObject::new())),
            ..Self::text(text)
        }
    }
}
