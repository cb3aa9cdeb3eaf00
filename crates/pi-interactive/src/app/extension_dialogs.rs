//! Questions of extensions: one at a time, in the order in which they were asked.

use std::time::Instant;

use pi_runtime::{DialogResponse, ExtensionDialog};
use tokio::sync::oneshot;

use super::App;
use crate::extension_desk::DialogId;
use crate::extension_question;

/// A question that waits for the place of the prompt.
pub(super) struct WaitingDialog {
    id: DialogId,
    dialog: ExtensionDialog,
    answer: oneshot::Sender<DialogResponse>,
    asked: Instant,
}

impl App {
    pub(super) fn on_question(
        &mut self,
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogResponse>,
    ) {
        self.extensions.waiting.push_back(WaitingDialog {
            id,
            dialog,
            answer,
            asked: Instant::now(),
        });
        self.ask_next();
    }

    pub(super) fn on_withdrawn(&mut self, id: DialogId) {
        self.extensions.waiting.retain(|waiting| waiting.id != id);
        if self.extensions.open == Some(id) {
            self.extensions.open = None;
            self.asked = None;
            self.screen.close_dialog();
            self.ask_next();
        }
    }

    /// Withdraws every question: whoever asked is gone.
    pub(super) fn give_up_questions(&mut self) {
        self.extensions.waiting.clear();
        if self.extensions.open.take().is_some() {
            self.asked = None;
            self.screen.close_dialog();
        }
    }

    /// Asks the next question, once no other dialog is open.
    pub(super) fn ask_next(&mut self) {
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
            asked,
        } = waiting;
        let shown = extension_question::dialog(&dialog, self.look.clone(), asked);
        let question = dialog.prompt;
        self.extensions.open = Some(id);
        self.asked = Some(Box::new(move |app, given| {
            app.extensions.open = None;
            let given = extension_question::given(&question, given);
            if answer.send(given).is_err() {
                tracing::debug!("the extension does not wait for its answer any more");
            }
        }));
        self.open_boxed(shown);
    }
}
