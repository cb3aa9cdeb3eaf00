//! Event handling for dialogs that are a single list, with or without a search field.
//!
//! The dialog defines what moving, confirming and canceling do, in `on_pick`.

use pi_tui::{Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent};

use super::canvas::HitTarget;
use super::field::point_at_field;
use super::intent_sink::IntentSink;
use super::picker::{Picker, PickerEvent};

/// A dialog whose entries are picked by key, first letter, wheel or click.
pub(super) trait ListBody {
    fn picker(&mut self) -> &mut Picker;

    /// Handles a pick.
    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink);

    fn handle_list_key(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let picker = self.picker();
        let picked = picker
            .key(event, context)
            .or_else(|| picker.letter_key(event));
        match picked {
            Some(picked) => {
                self.on_pick(picked, sink);
                InputOutcome::Consumed
            }
            None => InputOutcome::Ignored,
        }
    }

    fn handle_list_mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        sink: &mut IntentSink,
    ) -> bool {
        match self.picker().mouse(event, hit) {
            Some(picked) => {
                self.on_pick(picked, sink);
                true
            }
            None => false,
        }
    }
}

/// A list filtered by a text field: keys that do not pick are typed.
pub(super) trait SearchBody: ListBody {
    fn search(&mut self) -> &mut Input;

    /// Updates the list for the current search text.
    fn apply_search(&mut self);

    fn handle_search_key(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let Some(picked) = self.picker().key(event, context) {
            self.on_pick(picked, sink);
            return InputOutcome::Consumed;
        }
        let outcome = self.search().handle_input(event, context);
        self.apply_search();
        outcome
    }

    fn handle_search_mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.handle_list_mouse(event, hit, sink)
            || point_at_field(self.search(), event, hit, context)
    }
}
