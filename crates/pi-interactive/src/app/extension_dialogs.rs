//! Dialogs of extensions: shown one at a time, in the order in which they were requested.

use std::time::Instant;

use pi_runtime::{DialogResponse, ExtensionDialog};
use tokio::sync::oneshot;

use super::App;
use crate::extensions::bridge::DialogId;
use crate::extensions::question;

/// A dialog that waits for the prompt area to become free.
pub(super) struct WaitingDialog {
    id: DialogId,
    dialog: ExtensionDialog,
    answer: oneshot::Sender<DialogResponse>,
    asked_at: Instant,
}

impl App {
    pub(super) fn on_extension_dialog(
        &mut self,
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogResponse>,
    ) {
        self.extensions.waiting.push_back(WaitingDialog {
            id,
            dialog,
            answer,
            asked_at: Instant::now(),
        });
        self.open_next_dialog();
    }

    pub(super) fn on_dialog_withdrawn(&mut self, id: DialogId) {
        self.extensions.waiting.retain(|waiting| waiting.id != id);
        if self.extensions.open == Some(id) {
            self.extensions.open = None;
            self.pending_answer = None;
            self.screen.close_dialog();
            self.open_next_dialog();
        }
    }

    /// Dismisses every dialog, because the extensions that requested them are gone.
    pub(super) fn dismiss_extension_dialogs(&mut self) {
        self.extensions.waiting.clear();
        if self.extensions.open.take().is_some() {
            self.pending_answer = None;
            self.screen.close_dialog();
        }
    }

    /// Opens the next queued dialog, if no other dialog is open.
    pub(super) fn open_next_dialog(&mut self) {
        if self.screen.has_dialog() {
            return;
        }
        let Some(waiting) = self.extensions.waiting.pop_front() else {
            return;
        };
        let WaitingDialog {
            id,
            dialog,
            answer,
            asked_at,
        } = waiting;
        let shown = question::dialog(&dialog, self.ui.clone(), asked_at);
        let question = dialog.prompt;
        self.extensions.open = Some(id);
        self.pending_answer = Some(Box::new(move |app, answered| {
            app.extensions.open = None;
            let answered = question::to_dialog_answer(&question, answered);
            if answer.send(answered).is_err() {
                tracing::debug!("extension no longer waits for its answer");
            }
        }));
        self.open_boxed(shown);
    }
}
