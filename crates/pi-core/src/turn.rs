//! A finished turn and the decision that follows it.

use pi_protocol::SharedMessage;

/// A turn that is complete except for its `turn_end` event.
#[derive(Debug, Clone)]
pub struct FinishedTurn {
    pub message: SharedMessage,
    pub tool_results: Vec<SharedMessage>,
}

/// How the run continues after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnDecision {
    /// The loop decides.
    #[default]
    Default,
    /// Send at least one more request.
    Continue,
}

/// Outcome of the last response of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActivityOutcome {
    #[default]
    Completed,
    Aborted,
    Error,
}
