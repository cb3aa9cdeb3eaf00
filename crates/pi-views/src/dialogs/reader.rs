//! A scrollable text: keyboard shortcuts, the changelog.

use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, Lines, MouseEvent,
    MouseEventKind, action,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::plain_text::one_line;
use crate::theme::ui_theme::UiTheme;

mod hotkeys;

use hotkeys::Hotkeys;

/// Rows besides the text: borders, title, position, keys and spacing.
const OTHER_ROWS: usize = 7;

pub(crate) struct ReaderDialog {
    title: String,
    content: Box<dyn Component>,
    first: usize,
    page: usize,
    count: usize,
}

impl ReaderDialog {
    /// Shows any component, such as rendered Markdown; its text must be sanitized.
    pub(crate) fn open(ui: UiTheme, title: &str, content: Box<dyn Component>) -> DialogFrame<Self> {
        let body = Self {
            title: one_line(title),
            content,
            first: 0,
            page: 1,
            count: 0,
        };
        DialogFrame::new(ui, body)
    }

    /// Shows the keyboard shortcuts.
    pub(crate) fn hotkeys(ui: UiTheme) -> DialogFrame<Self> {
        let content = Box::new(Hotkeys::new(ui.clone()));
        Self::open(ui, "Keyboard shortcuts", content)
    }

    fn scroll_to(&mut self, first: usize) {
        self.first = first.min(self.count.saturating_sub(self.page));
    }
}

impl DialogBody for ReaderDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        let lines: Lines = self.content.render(canvas.width());
        self.count = lines.len();
        self.page = canvas.height().saturating_sub(OTHER_ROWS).max(1);
        self.scroll_to(self.first);
        canvas.title(&self.title);
        canvas.blank();
        for line in lines.iter().skip(self.first).take(self.page) {
            canvas.row(RowPriority::Content, line);
        }
        if self.page < self.count {
            let last = (self.first + self.page).min(self.count);
            let text = format!(" Lines {}–{last} of {}", self.first + 1, self.count);
            let line = canvas.paint(ColorToken::Muted, &text);
            canvas.row(RowPriority::Detail, &line);
        }
        canvas.blank();
        canvas.hints(&[
            Hint::keys(&[action::SELECT_UP, action::SELECT_DOWN], "scroll"),
            Hint::keys(&[action::SELECT_PAGE_UP, action::SELECT_PAGE_DOWN], "page"),
            Hint::leave("close"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let InputEvent::Key(key) = event else {
            return InputOutcome::Ignored;
        };
        let pressed = |action| context.keybindings.matches(key, action);
        if pressed(action::SELECT_CANCEL) || pressed(action::SELECT_CONFIRM) {
            sink.close();
        } else if pressed(action::SELECT_UP) {
            self.scroll_to(self.first.saturating_sub(1));
        } else if pressed(action::SELECT_DOWN) {
            self.scroll_to(self.first + 1);
        } else if pressed(action::SELECT_PAGE_UP) {
            self.scroll_to(self.first.saturating_sub(self.page));
        } else if pressed(action::SELECT_PAGE_DOWN) || key.text() == Some(' ') {
            self.scroll_to(self.first + self.page);
        } else if pressed(action::ALT_SCREEN_TOP) || pressed(action::EDITOR_CURSOR_LINE_START) {
            self.scroll_to(0);
        } else if pressed(action::ALT_SCREEN_BOTTOM) || pressed(action::EDITOR_CURSOR_LINE_END) {
            self.scroll_to(usize::MAX);
        } else {
            return InputOutcome::Ignored;
        }
        InputOutcome::Consumed
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        _hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        _outbox: &mut IntentSink,
    ) -> bool {
        let MouseEventKind::Wheel { lines } = event.kind else {
            return false;
        };
        let step = usize::try_from(lines.unsigned_abs()).unwrap_or(1);
        self.scroll_to(if lines < 0 {
            self.first.saturating_sub(step)
        } else {
            self.first + step
        });
        true
    }

    fn restyle(&mut self) {
        self.content.invalidate();
    }
}

#[cfg(test)]
mod tests;
