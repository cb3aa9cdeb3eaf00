//! Questions of the program's own, and work that shows how far it is.

use std::time::Instant;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::App;
use super::handle::AppHandle;
use crate::dialog::DialogUpdate;
use crate::dialogs::{
    ProgressDialog, ProgressUpdate, PromptDialog, QuestionDialog, QuestionOptions,
};
use crate::intent::QuestionAnswer;

/// Work that the user watches. Its dialog can be fed, and closed when it is over.
#[derive(Clone, Debug)]
pub(crate) struct ProgressHandle {
    /// Ends the work when the user gives up.
    pub(crate) cancel: CancellationToken,
    handle: AppHandle,
}

impl ProgressHandle {
    /// Shows how far the work is.
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
    /// Asks which of the choices it shall be; `then` gets its place, or nothing if the user left.
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
            QuestionAnswer::Chosen(place) => then(app, Some(place)),
            QuestionAnswer::Confirmed(_) | QuestionAnswer::Text(_) | QuestionAnswer::Dismissed => {
                then(app, None)
            }
        }));
        self.open(dialog);
    }

    /// Asks for a line of text; `then` gets it, or nothing if the user left.
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

    /// Shows a dialog while some work is under way; giving up cancels it and calls `on_cancel`.
    pub(crate) fn show_progress(
        &mut self,
        title: &str,
        subject: &str,
        on_cancel: impl FnOnce(&mut Self) + Send + 'static,
    ) -> ProgressHandle {
        self.dismiss_question();
        let cancel = CancellationToken::new();
        let guard: DropGuard = cancel.clone().drop_guard();
        // Whatever takes the place of the dialog gives the work up, too.
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

    /// Closes the dialog of some work that is over; nothing if the user gave it up.
    pub(crate) fn finish_progress(&mut self, work: &ProgressHandle) {
        if work.cancel.is_cancelled() {
            return;
        }
        // The guard cancels when it is dropped: it must not, the work is done.
        self.pending_answer = None;
        self.screen.close_dialog();
        self.open_next_dialog();
    }

    /// Answers for the user, who is about to be asked something else.
    fn dismiss_question(&mut self) {
        if let Some(on_answer) = self.pending_answer.take() {
            on_answer(self, QuestionAnswer::Dismissed);
        }
    }
}
