//! A finished turn and the decision that follows it.

use std::sync::Arc;

use crate::event::SharedMessage;

/// A turn that is complete except for its `turn_end` event.
#[derive(Debug, Clone)]
pub struct FinishedTurn {
    pub message: SharedMessage,
    pub tool_results: Vec<SharedMessage>,
    /// Messages the run has added so far.
    pub new_messages: Vec<SharedMessage>,
}

impl FinishedTurn {
    pub(crate) fn replace(&mut self, old: &SharedMessage, new: &SharedMessage) {
        let own = std::iter::once(&mut self.message);
        let others = self.tool_results.iter_mut().chain(&mut self.new_messages);
        for message in own.chain(others).filter(|one| Arc::ptr_eq(one, old)) {
            *message = Arc::clone(new);
        }
    }
}

/// How the run continues after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnDecision {
    /// The loop decides.
    #[default]
    Default,
    /// Send at least one more request.
    Continue,
    /// End the run.
    End,
}
