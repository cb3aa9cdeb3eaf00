//! A finished turn, and what it leads to.

use std::sync::Arc;

use crate::event::SharedMessage;

/// A turn that is over but for its `turn_end`.
#[derive(Debug, Clone)]
pub struct FinishedTurn {
    pub message: SharedMessage,
    /// The results of its tool calls.
    pub tool_results: Vec<SharedMessage>,
    /// What the run has added so far.
    pub new_messages: Vec<SharedMessage>,
}

impl FinishedTurn {
    /// Puts a message in the place of another.
    pub(crate) fn replace(&mut self, was: &SharedMessage, is: &SharedMessage) {
        let own = std::iter::once(&mut self.message);
        let others = self.tool_results.iter_mut().chain(&mut self.new_messages);
        for message in own.chain(others).filter(|one| Arc::ptr_eq(one, was)) {
            *message = Arc::clone(is);
        }
    }
}

/// What a finished turn leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnDecision {
    /// The loop decides as usual.
    #[default]
    Default,
    /// At least one more request follows.
    Continue,
    /// The run ends here.
    End,
}
