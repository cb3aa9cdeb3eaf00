//! The pure part of a replay: the record, the script that follows it, and the comparison.
//!
//! System messages, user shell commands and extension messages are skipped.

mod comparison;
mod record;
mod script;

pub use record::RecordError;
pub use script::{END_OF_RECORD, NextPrompt, ReplayScript, ScriptedTurn};

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Number of recorded messages that were compared.
    pub messages: usize,
    /// Number of model responses among them.
    pub answers: usize,
    /// Number of messages at the end that were not replayed, because no user prompt led to them.
    pub skipped: usize,
    /// The first difference, if any.
    pub difference: Option<ReplayDifference>,
}

/// The first message that differs from the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDifference {
    /// Number of the message, starting at 1.
    pub position: usize,
    /// The recorded message; `None` if the record ends here.
    pub recorded: Option<String>,
    /// The replayed message; `None` if the replay ended here.
    pub replayed: Option<String>,
}
