//! Dialogs that are one list, with or without a search field: how events reach them.
//!
//! What moving, confirming and leaving mean is the dialog's own; it says so in `settle`.

use pi_tui::{Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent};

use super::field::point_at_field;
use super::outbox::Outbox;
use super::picker::{Picked, Picker};
use super::sheet::Hit;

/// A dialog whose entries are picked by key, first letter, wheel or click.
pub(super) trait ListPane {
    fn picker(&mut self) -> &mut Picker;

    /// Does what a pick means.
    fn settle(&mut self, picked: Picked, outbox: &mut Outbox);

    fn pick(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        let picker = self.picker();
        let picked = picker.key(event, context).or_else(|| picker.letter(event));
        match picked {
            Some(picked) => {
                self.settle(picked, outbox);
                InputOutcome::Consumed
            }
            None => InputOutcome::Ignored,
        }
    }

    fn point(&mut self, event: &MouseEvent, hit: Option<Hit>, outbox: &mut Outbox) -> bool {
        match self.picker().mouse(event, hit) {
            Some(picked) => {
                self.settle(picked, outbox);
                true
            }
            None => false,
        }
    }
}

/// A list that a text field narrows: what does not pick is typed.
pub(super) trait SearchPane: ListPane {
    fn search(&mut self) -> &mut Input;

    /// Shows what matches the text now.
    fn search_again(&mut self);

    fn pick_or_type(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let Some(picked) = self.picker().key(event, context) {
            self.settle(picked, outbox);
            return InputOutcome::Consumed;
        }
        let outcome = self.search().handle_input(event, context);
        self.search_again();
        outcome
    }

    fn point_or_edit(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        self.point(event, hit, outbox) || point_at_field(self.search(), event, hit, context)
    }
}
