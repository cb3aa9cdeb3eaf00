//! Questions of extensions: one at a time, in the order in which they were asked.

use std::time::Instant;

use pi_runtime::{DialogAnswer, DialogQuestion, ExtensionDialog};
use tokio::sync::oneshot;

use super::App;
use crate::dialogs::{EditorDialog, PromptDialog, Question, QuestionDialog};
use crate::extension_desk::DialogId;
use crate::intent::Answer;

/// A question that waits for the place of the prompt.
pub(super) struct WaitingDialog {
    id: DialogId,
    dialog: ExtensionDialog,
    answer: oneshot::Sender<DialogAnswer>,
    asked: Instant,
}

impl App {
    pub(super) fn on_question(
        &mut self,
        id: DialogId,
        dialog: ExtensionDialog,
        answer: oneshot::Sender<DialogAnswer>,
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
        let options = match &dialog.question {
            DialogQuestion::Select { options, .. } => options.clone(),
            DialogQuestion::Confirm { .. }
            | DialogQuestion::Input { .. }
            | DialogQuestion::Editor { .. } => Vec::new(),
        };
        self.extensions.open = Some(id);
        self.asked = Some(Box::new(move |app, given| {
            app.extensions.open = None;
            let given = match given {
                Answer::Text(text) => DialogAnswer::Text(text),
                Answer::Confirmed(yes) => DialogAnswer::Confirmed(yes),
                Answer::Chosen(index) => options
                    .get(index)
                    .map_or(DialogAnswer::Cancelled, |it| DialogAnswer::Text(it.clone())),
                Answer::Dismissed => DialogAnswer::Cancelled,
            };
            if answer.send(given).is_err() {
                tracing::debug!("the extension does not wait for its answer any more");
            }
        }));
        self.show_question(&dialog, asked);
    }

    fn show_question(&mut self, dialog: &ExtensionDialog, asked: Instant) {
        let look = self.look.clone();
        let question = |title: &str, details: Option<&str>| Question {
            title: title.to_owned(),
            details: details
                .filter(|details| !details.is_empty())
                .map(str::to_owned),
            timeout: dialog.timeout,
        };
        match &dialog.question {
            DialogQuestion::Select { title, options } => {
                let dialog = QuestionDialog::choose(look, question(title, None), options, asked);
                self.open(dialog);
            }
            DialogQuestion::Confirm { title, message } => {
                let question = question(title, Some(message));
                self.open(QuestionDialog::confirm(look, question, asked));
            }
            DialogQuestion::Input { title, placeholder } => {
                let example = placeholder.as_deref();
                let dialog = PromptDialog::open(look, question(title, None), example, asked);
                self.open(dialog);
            }
            DialogQuestion::Editor { title, prefill } => {
                let text = prefill.as_deref().unwrap_or_default();
                self.open(EditorDialog::open(look, question(title, None), text));
            }
        }
    }
}
