//! Errors of agent operations.

use thiserror::Error;

/// An operation the agent cannot perform. The transcript is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AgentError {
    #[error(
        "the agent is busy: queue the message with steer or follow-up, or wait until it is idle"
    )]
    Busy,
    #[error("no message to continue from: send a prompt first")]
    NothingToContinue,
    /// The transcript ends with a model response and the queues are empty.
    #[error(
        "nothing to continue: the model has already responded; send a prompt or queue a message first"
    )]
    AlreadyAnswered,
}

/// A failed hook. The run ends with a message that contains the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl HookError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
