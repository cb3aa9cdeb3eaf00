//! Questions of the program's own, and work that shows how far it is.

use std::time::Instant;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::App;
use super::mailbox::Mailbox;
use crate::dialog::DialogNews;
use crate::dialogs::{Progress, ProgressDialog, PromptDialog, Question, QuestionDialog};
use crate::intent::Answer;

/// Work that the user watches. Its dialog can be fed, and closed when it is over.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// Ends the work when the user gives up.
    pub(crate) cancel: CancellationToken,
    mail: Mailbox,
}

impl Watched {
    /// Shows how far the work is.
    pub(crate) fn tell(&self, message: impl Into<String>, share: Option<f64>) {
        let progress = Progress {
            message: message.into(),
            share,
        };
        self.mail
            .post(move |app| app.feed_dialog(DialogNews::Progress(progress)));
    }
}

impl App {
    /// Asks which of the choices it shall be; `then` gets its place, or nothing if the user left.
    pub(crate) fn ask(
        &mut self,
        question: Question,
        choices: &[&str],
        then: impl FnOnce(&mut Self, Option<usize>) + Send + 'static,
    ) {
        let choices: Vec<String> = choices.iter().map(|choice| (*choice).to_owned()).collect();
        self.dismiss_question();
        let dialog = QuestionDialog::choose(self.look.clone(), question, &choices, Instant::now());
        self.asked = Some(Box::new(move |app, answer| match answer {
            Answer::Chosen(place) => then(app, Some(place)),
            Answer::Confirmed(_) | Answer::Text(_) | Answer::Dismissed => then(app, None),
        }));
        self.open(dialog);
    }

    /// Asks for a line of text; `then` gets it, or nothing if the user left.
    pub(crate) fn ask_line(
        &mut self,
        question: Question,
        example: &str,
        then: impl FnOnce(&mut Self, Option<String>) + Send + 'static,
    ) {
        self.dismiss_question();
        let dialog = PromptDialog::open(self.look.clone(), question, Some(example), Instant::now());
        self.asked = Some(Box::new(move |app, answer| match answer {
            Answer::Text(text) => then(app, Some(text)),
            Answer::Confirmed(_) | Answer::Chosen(_) | Answer::Dismissed => then(app, None),
        }));
        self.open(dialog);
    }

    /// Shows a dialog while some work is under way; giving up cancels it and calls `given_up`.
    pub(crate) fn watch_work(
        &mut self,
        title: &str,
        subject: &str,
        given_up: impl FnOnce(&mut Self) + Send + 'static,
    ) -> Watched {
        self.dismiss_question();
        let cancel = CancellationToken::new();
        let guard: DropGuard = cancel.clone().drop_guard();
        // Whatever takes the place of the dialog gives the work up, too.
        self.asked = Some(Box::new(move |app, _| {
            drop(guard);
            given_up(app);
        }));
        self.open(ProgressDialog::open(self.look.clone(), title, subject));
        Watched {
            cancel,
            mail: self.mail(),
        }
    }

    /// Closes the dialog of some work that is over; nothing if the user gave it up.
    pub(crate) fn end_work(&mut self, work: &Watched) {
        if work.cancel.is_cancelled() {
            return;
        }
        // The guard cancels when it is dropped: it must not, the work is done.
        self.asked = None;
        self.screen.close_dialog();
        self.ask_next();
    }

    /// Answers for the user, who is about to be asked something else.
    fn dismiss_question(&mut self) {
        if let Some(asked) = self.asked.take() {
            asked(self, Answer::Dismissed);
        }
    }
}
