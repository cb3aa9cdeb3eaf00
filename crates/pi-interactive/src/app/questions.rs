//! Questions the application asks, and progress dialogs for long-running work.

use std::time::Instant;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::App;
use super::handle::AppHandle;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::QuestionAnswer;
use crate::dialogs::{
    ProgressDialog, ProgressUpdate, PromptDialog, QuestionDialog, QuestionOptions,
};

/// A handle to work shown in a progress dialog; used to update and close the dialog.
#[derive(Clone, Debug)]
pub(crate) struct ProgressHandle {
    /// Cancelled when the user dismisses the dialog.
    pub(crate) cancel: CancellationToken,
    handle: AppHandle,
}

impl ProgressHandle {
    /// Updates the progress dialog; `share` is the completed fraction from 0 to 1.
    pub(crate) fn report(&self, message: impl Into<String>, share: Option<f64>) {
        let progress = ProgressUpdate {
            message: message.into(),
            share,
        };
        self.handle
            .post(move |app| app.update_dialog(DialogUpdate::Progress(progress)));
    }
}

impl App {
    /// Asks a multiple-choice question; `then` receives the chosen index, or `None` if dismissed.
    pub(crate) fn ask(
        &mut self,
        question: QuestionOptions,
        choices: &[&str],
        then: impl FnOnce(&mut Self, Option<usize>) + Send + 'static,
    ) {
        let choices: Vec<String> = choices.iter().map(|choice| (*choice).to_owned()).collect();
        self.dismiss_question();
        let dialog = QuestionDialog::choose(self.ui.clone(), question, &choices, Instant::now());
        self.pending_answer = Some(Box::new(move |app, answer| match answer {
            QuestionAnswer::Chosen(index) => then(app, Some(index)),
            QuestionAnswer::Confirmed(_) | QuestionAnswer::Text(_) | QuestionAnswer::Dismissed => {
                then(app, None);
            }
        }));
        self.open(dialog);
    }

    /// Asks for a line of text; `then` receives it, or `None` if dismissed.
    pub(crate) fn ask_line(
        &mut self,
        question: QuestionOptions,
        example: &str,
        then: impl FnOnce(&mut Self, Option<String>) + Send + 'static,
    ) {
        self.dismiss_question();
        let dialog = PromptDialog::open(self.ui.clone(), question, Some(example), Instant::now());
        self.pending_answer = Some(Box::new(move |app, answer| match answer {
            QuestionAnswer::Text(text) => then(app, Some(text)),
            QuestionAnswer::Confirmed(_)
            | QuestionAnswer::Chosen(_)
            | QuestionAnswer::Dismissed => then(app, None),
        }));
        self.open(dialog);
    }

    /// Shows a progress dialog; dismissing it cancels the work and calls `on_cancel`.
    pub(crate) fn show_progress(
        &mut self,
        title: &str,
        subject: &str,
        on_cancel: impl FnOnce(&mut Self) + Send + 'static,
    ) -> ProgressHandle {
        self.dismiss_question();
        let cancel = CancellationToken::new();
        let guard: DropGuard = cancel.clone().drop_guard();
        // Anything that replaces the dialog also cancels the work.
        self.pending_answer = Some(Box::new(move |app, _| {
            drop(guard);
            on_cancel(app);
        }));
        self.open(ProgressDialog::open(self.ui.clone(), title, subject));
        ProgressHandle {
            cancel,
            handle: self.handle(),
        }
    }

    /// Closes the progress dialog of finished work; does nothing if the user dismissed it.
    pub(crate) fn finish_progress(&mut self, work: &ProgressHandle) {
        if work.cancel.is_cancelled() {
            return;
        }
        // Dropping the handler also cancels the token, which has no effect on finished work.
        self.pending_answer = None;
        self.screen.close_dialog();
        self.open_next_dialog();
    }

    /// Dismisses the open question, because another one replaces it.
    fn dismiss_question(&mut self) {
        if let Some(on_answer) = self.pending_answer.take() {
            on_answer(self, QuestionAnswer::Dismissed);
        }
    }
}
