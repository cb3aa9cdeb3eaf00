//! Text fields inside dialogs.

use std::time::Instant;

use pi_tui::{
    Component, Input, InputContext, InputEvent, InputOptions, Keybindings, MouseEvent, Paste,
};

use super::canvas::HitTarget;

/// Returns a field with initial text and the cursor at its end.
pub(super) fn prefilled(text: &str) -> Input {
    let mut field = Input::new(InputOptions::default());
    if !text.is_empty() {
        let context = InputContext {
            keybindings: &Keybindings::default(),
            now: Instant::now(),
            rows: 0,
        };
        let paste = Paste {
            text: text.to_owned(),
        };
        field.handle_input(&InputEvent::Paste(paste), &context);
    }
    field
}

/// Forwards a mouse event to a field, if the pointer is on it.
pub(super) fn point_at_field(
    field: &mut Input,
    event: &MouseEvent,
    hit: Option<HitTarget>,
    context: &InputContext<'_>,
) -> bool {
    let Some(HitTarget::Field { column }) = hit else {
        return false;
    };
    let inside = MouseEvent {
        column: event.column.saturating_sub(column),
        row: 0,
        ..*event
    };
    field.handle_mouse(&inside, context).stops_propagation()
}
