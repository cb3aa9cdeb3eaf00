//! Choosing the message a new session branches off before.

use pi_session::EntryId;
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::hint::Hint;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::intent::Intent;
use crate::look::Look;

const MOST_MESSAGES: usize = 10;
/// The message, where it stands, and an empty row.
const ROWS_EACH: usize = 3;

/// A message of the user that a session can branch off before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForkPoint {
    pub(crate) entry: EntryId,
    pub(crate) text: String,
}

/// The dialog that chooses where to fork.
pub(crate) struct ForkDialog {
    points: Vec<ForkPoint>,
    picker: Picker,
}

impl ForkDialog {
    /// Opens the dialog with messages from the oldest to the newest, which is selected.
    pub(crate) fn open(look: Look, points: Vec<ForkPoint>) -> Window<Self> {
        let mut picker = Picker::new(points.len(), Edge::Wrap);
        picker.select(points.len());
        Window::new(look, Self { points, picker })
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => match self.points.get(self.picker.selected()) {
                Some(point) => outbox.finish(Intent::Fork {
                    entry: point.entry.clone(),
                }),
                None => outbox.close(),
            },
            Picked::Cancelled => outbox.close(),
        }
    }
}

impl Pane for ForkDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        sheet.title("Fork the session");
        let text = "A new session begins with everything before the message you choose.";
        sheet.text(Weight::Detail, ColorToken::Muted, text);
        sheet.blank();
        if self.points.is_empty() {
            sheet.text(
                Weight::Content,
                ColorToken::Muted,
                "  You have said nothing yet.",
            );
        }
        let visible = self
            .picker
            .window(sheet.list_rows(MOST_MESSAGES, ROWS_EACH, 5));
        let cut = visible.len() < self.points.len();
        for index in visible {
            let Some(point) = self.points.get(index) else {
                continue;
            };
            let text = one_line(&point.text);
            let selected = index == self.picker.selected();
            let line = if selected {
                sheet.bold(ColorToken::Accent, &format!(" → {text}"))
            } else {
                format!("   {text}")
            };
            sheet.item(index, selected, &line);
            let place = format!("   Message {} of {}", index + 1, self.points.len());
            let place = sheet.paint(ColorToken::Muted, &place);
            sheet.row(Weight::Detail, &place);
            sheet.blank();
        }
        if cut {
            sheet.position(self.picker.selected(), self.points.len(), "");
        }
        sheet.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "fork before it"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        let Some(picked) = self.picker.key(event, context) else {
            return InputOutcome::Ignored;
        };
        self.settle(picked, outbox);
        InputOutcome::Consumed
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        _context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let Some(picked) = self.picker.mouse(event, hit) else {
            return false;
        };
        self.settle(picked, outbox);
        true
    }
}

#[cfg(test)]
mod tests;
