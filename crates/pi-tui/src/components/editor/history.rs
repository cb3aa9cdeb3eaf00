//! Earlier prompts, newest first, and the draft one leaves to look at them.

use std::collections::VecDeque;

use super::buffer::Buffer;

const CAPACITY: usize = 100;

/// Which way to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Older,
    Newer,
}

/// What to show after a step.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    Entry(String),
    Draft(Box<Buffer>),
}

/// The prompts, and where one is among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: VecDeque<String>,
    browsing: Option<(usize, Buffer)>,
}

impl History {
    /// Adds a prompt, unless it is empty or the same as the last one.
    pub(crate) fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.entries.front().is_some_and(|newest| newest == text) {
            return;
        }
        self.entries.push_front(text.to_owned());
        self.entries.truncate(CAPACITY);
    }

    pub(crate) fn is_browsing(&self) -> bool {
        self.browsing.is_some()
    }

    /// Stays with what is shown; the draft is gone.
    pub(crate) fn leave(&mut self) {
        self.browsing = None;
    }

    /// Takes a step from `current`; `None` at either end.
    pub(crate) fn step(&mut self, step: Step, current: &Buffer) -> Option<Shown> {
        let index = self.browsing.as_ref().map(|(index, _)| *index);
        let target = match (step, index) {
            (Step::Older, None) => 0,
            (Step::Older, Some(index)) => index + 1,
            (Step::Newer, None) => return None,
            (Step::Newer, Some(0)) => {
                let (_, draft) = self.browsing.take()?;
                return Some(Shown::Draft(Box::new(draft)));
            }
            (Step::Newer, Some(index)) => index - 1,
        };
        let entry = self.entries.get(target)?.clone();
        match &mut self.browsing {
            Some((index, _)) => *index = target,
            None => self.browsing = Some((target, current.clone())),
        }
        Some(Shown::Entry(entry))
    }
}
