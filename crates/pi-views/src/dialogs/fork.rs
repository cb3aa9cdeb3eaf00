//! Selects the message before which the session is forked.

use pi_protocol::EntryId;
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

const MAX_MESSAGES: usize = 10;
/// The message, its position, and an empty row.
const ROWS_EACH: usize = 3;

/// A user message before which the session can be forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    pub entry: EntryId,
    pub text: String,
}

pub(crate) struct ForkDialog {
    points: Vec<ForkPoint>,
    picker: Picker,
}

impl ForkDialog {
    /// Opens the dialog with messages from oldest to newest; the newest is selected.
    pub(crate) fn open(ui: UiTheme, points: Vec<ForkPoint>) -> DialogFrame<Self> {
        let mut picker = Picker::new(points.len(), EdgeBehavior::Wrap);
        picker.select(points.len());
        DialogFrame::new(ui, Self { points, picker })
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
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
        canvas.title("Fork session");
        let text = "Creates a new session with everything before the selected message.";
        canvas.text(RowPriority::Detail, ColorToken::Muted, text);
        canvas.blank();
        if self.points.is_empty() {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No messages yet.",
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
            let position = format!("   Message {} of {}", index + 1, self.points.len());
            let position = canvas.paint(ColorToken::Muted, &position);
            canvas.row(RowPriority::Detail, &position);
            canvas.blank();
        }
        if cut {
            canvas.position(self.picker.selected(), self.points.len(), "");
        }
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "fork"),
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
        self.on_pick(picked, sink);
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
        self.on_pick(picked, sink);
        true
    }
}

#[cfg(test)]
mod tests;
