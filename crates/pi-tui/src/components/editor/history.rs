//! Earlier prompts, newest first, and the draft that was left to browse them.

use std::collections::VecDeque;

use super::buffer::Buffer;

const CAPACITY: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryStep {
    Older,
    Newer,
}

/// What to show after a step.
#[derive(Clone, Debug)]
pub(crate) enum HistoryView {
    Entry(String),
    Draft(Box<Buffer>),
}

/// The prompts and the current position among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptHistory {
    entries: VecDeque<String>,
    browsing: Option<(usize, Buffer)>,
}

impl PromptHistory {
    /// Adds a prompt, unless it is empty or equal to the last one.
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

    /// Stops browsing and keeps the displayed text; the draft is dropped.
    pub(crate) fn stop_browsing(&mut self) {
        self.browsing = None;
    }

    /// Takes a step from `current`. Returns `None` at either end.
    pub(crate) fn step(&mut self, step: HistoryStep, current: &Buffer) -> Option<HistoryView> {
        let index = self.browsing.as_ref().map(|(index, _)| *index);
        let target = match (step, index) {
            (HistoryStep::Older, None) => 0,
            (HistoryStep::Older, Some(index)) => index + 1,
            (HistoryStep::Newer, None) => return None,
            (HistoryStep::Newer, Some(0)) => {
                let (_, draft) = self.browsing.take()?;
                return Some(HistoryView::Draft(Box::new(draft)));
            }
            (HistoryStep::Newer, Some(index)) => index - 1,
        };
        let entry = self.entries.get(target)?.clone();
        match &mut self.browsing {
            Some((index, _)) => *index = target,
            None => self.browsing = Some((target, current.clone())),
        }
        Some(HistoryView::Entry(entry))
    }
}
