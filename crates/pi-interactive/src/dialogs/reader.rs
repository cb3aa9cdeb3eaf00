//! Something to read and scroll: the keys, the news of a version.

use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, Lines, MouseEvent,
    MouseEventKind, action,
};

use super::hint::Hint;
use super::outbox::Outbox;
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::look::Look;

mod hotkeys;

use hotkeys::Hotkeys;

/// Rows of the dialog besides the text: borders, title, position, keys and spacing.
const OTHER_ROWS: usize = 7;

/// The dialog that shows a text.
pub(crate) struct ReaderDialog {
    title: String,
    content: Box<dyn Component>,
    first: usize,
    page: usize,
    count: usize,
}

impl ReaderDialog {
    /// Shows any component, such as rendered Markdown; its text must be clean of control characters.
    pub(crate) fn open(look: Look, title: &str, content: Box<dyn Component>) -> Window<Self> {
        let pane = Self {
            title: one_line(title),
            content,
            first: 0,
            page: 1,
            count: 0,
        };
        Window::new(look, pane)
    }

    /// Shows which keys do what.
    pub(crate) fn hotkeys(look: Look) -> Window<Self> {
        let content = Box::new(Hotkeys::new(look.clone()));
        Self::open(look, "Keys", content)
    }

    fn scroll_to(&mut self, first: usize) {
        self.first = first.min(self.count.saturating_sub(self.page));
    }
}

impl Pane for ReaderDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        let lines: Lines = self.content.render(sheet.width());
        self.count = lines.len();
        self.page = sheet.height().saturating_sub(OTHER_ROWS).max(1);
        self.scroll_to(self.first);
        sheet.title(&self.title);
        sheet.blank();
        for line in lines.iter().skip(self.first).take(self.page) {
            sheet.row(Weight::Content, line);
        }
        if self.page < self.count {
            let last = (self.first + self.page).min(self.count);
            let text = format!(" lines {}–{last} of {}", self.first + 1, self.count);
            let line = sheet.paint(ColorToken::Muted, &text);
            sheet.row(Weight::Detail, &line);
        }
        sheet.blank();
        sheet.hints(&[
            Hint::keys(&[action::SELECT_UP, action::SELECT_DOWN], "scroll"),
            Hint::keys(&[action::SELECT_PAGE_UP, action::SELECT_PAGE_DOWN], "page"),
            Hint::leave("close"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        let InputEvent::Key(key) = event else {
            return InputOutcome::Ignored;
        };
        let means = |action| context.keybindings.matches(key, action);
        if means(action::SELECT_CANCEL) || means(action::SELECT_CONFIRM) {
            outbox.close();
        } else if means(action::SELECT_UP) {
            self.scroll_to(self.first.saturating_sub(1));
        } else if means(action::SELECT_DOWN) {
            self.scroll_to(self.first + 1);
        } else if means(action::SELECT_PAGE_UP) {
            self.scroll_to(self.first.saturating_sub(self.page));
        } else if means(action::SELECT_PAGE_DOWN) || key.text() == Some(' ') {
            self.scroll_to(self.first + self.page);
        } else if means(action::ALT_SCREEN_TOP) {
            self.scroll_to(0);
        } else if means(action::ALT_SCREEN_BOTTOM) {
            self.scroll_to(usize::MAX);
        } else {
            return InputOutcome::Ignored;
        }
        InputOutcome::Consumed
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        _hit: Option<Hit>,
        _context: &InputContext<'_>,
        _outbox: &mut Outbox,
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
