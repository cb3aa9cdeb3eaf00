//! Choosing the message a new session branches off before.

use pi_session::EntryId;
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::intent::Intent;
use crate::ui_theme::UiTheme;

const MAX_MESSAGES: usize = 10;
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
    pub(crate) fn open(ui: UiTheme, points: Vec<ForkPoint>) -> DialogFrame<Self> {
        let mut picker = Picker::new(points.len(), EdgeBehavior::Wrap);
        picker.select(points.len());
        DialogFrame::new(ui, Self { points, picker })
    }

    fn settle(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => match self.points.get(self.picker.selected()) {
                Some(point) => sink.finish(Intent::Fork {
                    entry: point.entry.clone(),
                }),
                None => sink.close(),
            },
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl DialogBody for ForkDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        canvas.title("Fork the session");
        let text = "A new session begins with everything before the message you choose.";
        canvas.text(RowPriority::Detail, ColorToken::Muted, text);
        canvas.blank();
        if self.points.is_empty() {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  You have said nothing yet.",
            );
        }
        let visible = self
            .picker
            .visible_range(canvas.list_rows(MAX_MESSAGES, ROWS_EACH, 5));
        let cut = visible.len() < self.points.len();
        for index in visible {
            let Some(point) = self.points.get(index) else {
                continue;
            };
            let text = one_line(&point.text);
            let selected = index == self.picker.selected();
            let line = if selected {
                canvas.bold(ColorToken::Accent, &format!(" → {text}"))
            } else {
                format!("   {text}")
            };
            canvas.item(index, selected, &line);
            let place = format!("   Message {} of {}", index + 1, self.points.len());
            let place = canvas.paint(ColorToken::Muted, &place);
            canvas.row(RowPriority::Detail, &place);
            canvas.blank();
        }
        if cut {
            canvas.position(self.picker.selected(), self.points.len(), "");
        }
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "fork before it"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let Some(picked) = self.picker.key(event, context) else {
            return InputOutcome::Ignored;
        };
        self.settle(picked, sink);
        InputOutcome::Consumed
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let Some(picked) = self.picker.mouse(event, hit) else {
            return false;
        };
        self.settle(picked, sink);
        true
    }
}

#[cfg(test)]
mod tests;
