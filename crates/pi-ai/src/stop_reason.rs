//! Why an assistant message ended.

use serde::{Deserialize, Serialize};

/// The reason an assistant message stopped, in the words of session files and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The message is still streaming; never stored.
    #[default]
    Pending,
    /// The model finished its answer.
    Stop,
    /// The output limit was reached.
    Length,
    /// The model asks for tools to be run.
    ToolUse,
    /// The request or the stream failed.
    Error,
    /// The user or the program cancelled the request.
    Aborted,
    /// The provider accepted the request and will answer later.
    Deferred,
}

impl StopReason {
    /// Returns whether the turn ended without a usable answer.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}
