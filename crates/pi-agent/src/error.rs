//! What an agent refuses to do.

use thiserror::Error;

/// A request an agent cannot follow. The transcript is untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A run is under way.
    #[error(
        "the agent is already working: queue the message with steer or follow-up, or wait until it is idle"
    )]
    Busy,
    /// There is nothing to go on from.
    #[error("there is no message to continue from: send a prompt first")]
    NothingToContinue,
    /// The model has the last word and nothing is queued.
    #[error("the model has already answered: send a prompt, or queue a message before continuing")]
    AlreadyAnswered,
}

/// A hook's failure; it ends the run with a message that says so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl HookError {
    /// Creates a failure with the given words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
