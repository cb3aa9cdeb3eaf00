//! Replies to commands.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{RawJson, present};

/// What became of an accepted command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "disposition", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Ack {
    /// A run has started.
    Started,
    /// The message is queued, or deferred until the session has settled.
    Queued,
    /// A slash command or a hook handled the prompt; no run starts.
    Handled,
    /// The command is complete.
    Done {
        /// The result of a command that returns one.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
        data: Option<RawJson>,
    },
}

/// A command that was not executed or has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rejected {
    pub code: RejectionCode,
    /// An error message for the user.
    pub message: String,
}

/// Why a command was rejected, as far as clients depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum RejectionCode {
    /// A run is in progress.
    Busy,
    /// A compaction or a move in the tree is in progress.
    Compacting,
    /// Canceled before it had an effect.
    Canceled,
    /// The session was closed or replaced.
    Closed,
    /// No model is selected, or it cannot be used.
    NoModel,
    /// What the command refers to does not exist, or no longer.
    NotFound,
    /// The command is invalid.
    Invalid,
    /// Any other failure.
    Failed,
}

impl Rejected {
    pub fn new(code: RejectionCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Rejected {}
