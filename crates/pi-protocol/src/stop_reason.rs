//! Why an assistant message ended.

use serde::{Deserialize, Serialize};

/// Why an assistant message stopped, as stored in session files and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// Still streaming; never stored.
    #[default]
    Pending,
    Stop,
    /// The output limit was reached.
    Length,
    /// The model requests tool calls.
    ToolUse,
    Error,
    /// The user or the program canceled the request.
    Aborted,
    /// The provider accepted the request and will respond later.
    Deferred,
}

impl StopReason {
    /// Returns whether the turn ended without a usable response.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}
