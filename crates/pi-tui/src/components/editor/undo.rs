//! Undo as a stack of snapshots, and which keys belong to one step.

use std::collections::VecDeque;

/// Older states are dropped, so that a long session stays small.
const CAPACITY: usize = 1000;

/// What the last key did, where that affects the next key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastAction {
    #[default]
    Other,
    /// Typing inside a word; the next letter belongs to the same undo step.
    Typing,
    /// Deleting into the kill ring; the next kill is merged into the same entry.
    Killing,
    /// Yanking; the next key may request an older entry.
    Yanking,
}

impl LastAction {
    /// Whether typing `character` now starts a new undo step: each space does, and so does the
    /// first letter after anything but typing.
    pub(crate) fn starts_step(self, character: char) -> bool {
        character.is_whitespace() || self != Self::Typing
    }
}

/// States to restore, latest last.
#[derive(Clone, Debug)]
pub(crate) struct UndoStack<S> {
    states: VecDeque<S>,
}

impl<S> Default for UndoStack<S> {
    fn default() -> Self {
        Self {
            states: VecDeque::new(),
        }
    }
}

impl<S> UndoStack<S> {
    pub(crate) fn push(&mut self, state: S) {
        if self.states.len() == CAPACITY {
            self.states.pop_front();
        }
        self.states.push_back(state);
    }

    pub(crate) fn pop(&mut self) -> Option<S> {
        self.states.pop_back()
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
    }
}
