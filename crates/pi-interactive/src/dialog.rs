//! The contract between the application and its dialogs.
//!
//! A dialog is made from data, reads keys by their action and says what it wants through intents. It
//! stands in the place of the editor (or over the screen) until it is done. It does no I/O and knows no session.

use std::sync::Arc;
use std::time::Instant;

use pi_ai::{LoginEvent, LoginPrompt};
use pi_session::listing::SessionInfo;
use pi_tui::Component;

use crate::intent::{Intent, SessionScope};

/// A dialog on the screen.
pub(crate) trait Dialog: Component {
    /// Returns what the dialog wants done since it was last asked.
    fn take_intents(&mut self) -> Vec<Intent>;

    /// Returns whether the dialog is over and can be taken off the screen.
    fn is_done(&self) -> bool;

    /// Tells how many rows the terminal has, when the dialog opens and whenever it changes.
    ///
    /// A dialog that does not fit leaves out what matters least.
    fn set_rows(&mut self, _rows: usize) {}

    /// Returns when the dialog changes by itself next, such as with a countdown.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Tells that a moment asked for with [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Instant) {}

    /// Tells the dialog something that became known after it was opened.
    fn on_update(&mut self, _news: DialogUpdate) {}
}

/// Something that becomes known while a dialog is open.
#[derive(Clone, Debug)]
pub(crate) enum DialogUpdate {
    /// Sessions that were found; each time all that are known so far, newest first.
    Sessions {
        /// Which were looked for.
        scope: SessionScope,
        /// What was found; `None` if only the numbers changed.
        sessions: Option<Vec<Arc<SessionInfo>>>,
        /// How many files have been read.
        loaded: usize,
        /// How many there are.
        total: usize,
        /// Whether the search is over.
        finished: bool,
    },
    /// A session's file has the name that was asked for.
    SessionRenamed,
    /// A session's file is gone.
    SessionDeleted(std::path::PathBuf),
    /// A sign-in has something to show.
    SignIn(LoginEvent),
    /// A sign-in asks; the answer is [`Intent::AnswerSignIn`].
    SignInPrompt(LoginPrompt),
    /// A sign-in withdrew its question, because the answer came another way.
    SignInPromptWithdrawn,
    /// A sign-in is over.
    SignInEnded(Result<(), String>),
    /// The models that can be chosen are now these.
    Models(Vec<Arc<pi_ai::Model>>),
    /// Work under way is this far.
    Progress(crate::dialogs::ProgressUpdate),
    /// The external editor was closed with this text.
    Edited(String),
    /// What was asked for could not be done.
    Failed(String),
}
