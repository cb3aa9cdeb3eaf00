//! A finished turn, and what it leads to.

use crate::event::SharedMessage;

/// A turn that is over but for its `turn_end`.
#[derive(Debug, Clone)]
pub struct FinishedTurn {
    /// The model's answer.
    pub message: SharedMessage,
    /// The results of its tool calls.
    pub tool_results: Vec<SharedMessage>,
    /// What the run has added so far.
    pub new_messages: Vec<SharedMessage>,
}

/// What a finished turn leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnDecision {
    /// The loop decides as usual.
    #[default]
    Usual,
    /// At least one more request follows.
    Continue,
    /// The run ends here.
    End,
}
