//! Choosing the stored credential to delete.

use pi_tui::{InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::super::hint::Hint;
use super::super::outbox::Outbox;
use super::super::picker::Picked;
use super::super::sheet::{Hit, Sheet};
use super::super::window::{Pane, Window};
use super::LoginOption;
use super::providers::ProviderList;
use crate::intent::Intent;
use crate::look::Look;

/// The dialog of signing out.
pub(crate) struct LogoutDialog {
    providers: ProviderList,
}

impl LogoutDialog {
    /// Opens the dialog with what is stored.
    pub(crate) fn open(look: Look, stored: Vec<LoginOption>) -> Window<Self> {
        let providers = ProviderList::new(stored, "");
        Window::new(look, Self { providers })
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => {
                if let Some(option) = self.providers.selected() {
                    let provider = option.provider.clone();
                    outbox.finish(Intent::SignOut { provider });
                }
            }
            Picked::Cancelled => outbox.close(),
        }
    }
}

impl Pane for LogoutDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        self.providers.paint(
            sheet,
            "Which credential shall be deleted?",
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
        outbox: &mut Outbox,
    ) -> InputOutcome {
        match self.providers.key(event, context) {
            Ok(picked) => {
                self.settle(picked, outbox);
                InputOutcome::Consumed
            }
            Err(outcome) => outcome,
        }
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        match self.providers.mouse(event, hit, context) {
            Ok(picked) => {
                self.settle(picked, outbox);
                true
            }
            Err(used) => used,
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.providers.set_focused(focused);
    }
}
