//! Selects the stored credential to delete.

use pi_protocol::LoginOption;
use pi_tui::{InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::super::canvas::{DialogCanvas, HitTarget};
use super::super::frame::{DialogBody, DialogFrame};
use super::super::hint::Hint;
use super::super::intent_sink::IntentSink;
use super::super::picker::PickerEvent;
use super::providers::ProviderList;
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

pub(crate) struct LogoutDialog {
    providers: ProviderList,
}

impl LogoutDialog {
    /// Opens the dialog with the stored credentials.
    pub(crate) fn open(ui: UiTheme, stored: Vec<LoginOption>) -> DialogFrame<Self> {
        let providers = ProviderList::new(stored, "");
        DialogFrame::new(ui, Self { providers })
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => {
                if let Some(option) = self.providers.selected() {
                    let provider = option.provider.clone();
                    sink.finish(Intent::SignOut { provider });
                }
            }
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl DialogBody for LogoutDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        self.providers.paint(
            canvas,
            "Remove a stored credential",
            &[
                Hint::movement(),
                Hint::key(action::SELECT_CONFIRM, "delete"),
                Hint::leave("cancel"),
            ],
        );
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        match self.providers.key(event, context) {
            Ok(picked) => {
                self.on_pick(picked, sink);
                InputOutcome::Consumed
            }
            Err(outcome) => outcome,
        }
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        match self.providers.mouse(event, hit, context) {
            Ok(picked) => {
                self.on_pick(picked, sink);
                true
            }
            Err(used) => used,
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.providers.set_focused(focused);
    }
}
