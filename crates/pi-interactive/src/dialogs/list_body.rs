//! Dialogs that are one list, with or without a search field: how events reach them.
//!
//! What moving, confirming and leaving mean is the dialog's own; it says so in `settle`.

use pi_tui::{Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent};

use super::canvas::HitTarget;
use super::field::point_at_field;
use super::intent_sink::IntentSink;
use super::picker::{Picker, PickerEvent};

/// A dialog whose entries are picked by key, first letter, wheel or click.
pub(super) trait ListBody {
    fn picker(&mut self) -> &mut Picker;

    /// Does what a pick means.
    fn settle(&mut self, picked: PickerEvent, sink: &mut IntentSink);

    fn pick(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let picker = self.picker();
        let picked = picker.key(event, context).or_else(|| picker.letter(event));
        match picked {
            Some(picked) => {
                self.settle(picked, sink);
                InputOutcome::Consumed
            }
            None => InputOutcome::Ignored,
        }
    }

    fn point(&mut self, event: &MouseEvent, hit: Option<HitTarget>, sink: &mut IntentSink) -> bool {
        match self.picker().mouse(event, hit) {
            Some(picked) => {
                self.settle(picked, sink);
                true
            }
            None => false,
        }
    }
}

/// A list that a text field narrows: what does not pick is typed.
pub(super) trait SearchBody: ListBody {
    fn search(&mut self) -> &mut Input;

    /// Shows what matches the text now.
    fn apply_search(&mut self);

    fn pick_or_type(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let Some(picked) = self.picker().key(event, context) {
            self.settle(picked, sink);
            return InputOutcome::Consumed;
        }
        let outcome = self.search().handle_input(event, context);
        self.apply_search();
        outcome
    }

    fn point_or_edit(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.point(event, hit, sink) || point_at_field(self.search(), event, hit, context)
    }
}
