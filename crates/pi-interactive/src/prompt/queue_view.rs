//! Queued steering and follow-up messages, shown above the editor.

use pi_protocol::QueuedTexts;
use pi_tui::{ColorToken, Component, Lines, TruncateOptions, truncate_to_width};
use pi_views::keys;
use pi_views::theme::ui_theme::UiTheme;

use crate::blocks::clean_line;

#[derive(Debug)]
pub(crate) struct QueueView {
    ui: UiTheme,
    waiting: QueuedTexts,
}

impl QueueView {
    pub(crate) fn new(ui: UiTheme) -> Self {
        Self {
            ui,
            waiting: QueuedTexts::default(),
        }
    }

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
            .map(|(kind, text)| format!(" {kind}: {}", clean_line(text)))
            .collect();
        if lines.is_empty() {
            return Lines::empty();
        }
        let ctx = self.ui.context();
        lines.push(format!(
            " ↳ {} to edit queued messages",
            ctx.key(keys::MESSAGE_DEQUEUE)
        ));
        lines.insert(0, String::new());
        lines
            .into_iter()
            .map(|line| {
                let line = truncate_to_width(&line, width, TruncateOptions::default());
                ctx.paint(ColorToken::Dim, &line)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn queued_messages_are_listed_in_order() {
        let mut view = QueueView::new(UiTheme::for_tests());
        assert!(view.render(40).is_empty());
        view.set(QueuedTexts {
            steering: vec!["turn\nleft".to_owned()],
            follow_up: vec!["a\x1b[31mfterwards".to_owned()],
        });
        let lines = view.render(40);
        let lines: Vec<_> = lines.iter().map(|line| pi_tui::strip_ansi(line)).collect();
        assert_eq!(
            lines,
            [
                "",
                " Steering: turn left",
                " Follow-up: afterwards",
                " ↳ alt+up to edit queued messages",
            ]
        );
    }
}
