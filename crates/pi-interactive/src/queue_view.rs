//! What waits to be said: steering and follow-ups, above the editor.

use pi_runtime::QueuedTexts;
use pi_tui::{ColorToken, Component, Lines, Truncation, sanitize, truncate_to_width};

use crate::keys;
use crate::look::Look;

/// The list of waiting messages.
#[derive(Debug)]
pub(crate) struct QueueView {
    look: Look,
    waiting: QueuedTexts,
}

impl QueueView {
    /// Starts empty.
    pub(crate) fn new(look: Look) -> Self {
        Self {
            look,
            waiting: QueuedTexts::default(),
        }
    }

    /// Shows what waits now.
    pub(crate) fn set(&mut self, waiting: QueuedTexts) {
        self.waiting = waiting;
    }
}

impl Component for QueueView {
    fn render(&mut self, width: usize) -> Lines {
        let steering = self.waiting.steering.iter().map(|text| ("Steering", text));
        let follow_up = self
            .waiting
            .follow_up
            .iter()
            .map(|text| ("Follow-up", text));
        let mut lines: Vec<String> = steering
            .chain(follow_up)
            .map(|(kind, text)| {
                let text = sanitize(text).replace(['\n', '\r', '\t'], " ");
                format!(" {kind}: {text}")
            })
            .collect();
        if lines.is_empty() {
            return Lines::empty();
        }
        let appearance = self.look.appearance();
        lines.push(format!(
            " ↳ {} to edit them",
            appearance.key(keys::MESSAGE_DEQUEUE)
        ));
        lines.insert(0, String::new());
        lines
            .into_iter()
            .map(|line| {
                let line = truncate_to_width(&line, width, Truncation::default());
                appearance.paint(ColorToken::Dim, &line)
            })
            .collect()
    }
}
