//! The contract between the application and its dialogs.
//!
//! A dialog is created from data, matches keys by action, and requests work through intents. It replaces the
//! editor (or covers the screen) until it is done. It does no I/O and has no access to the session.

use std::sync::Arc;
use std::time::Instant;

use pi_protocol::{LoginEvent, LoginPrompt, SessionInfo, SessionScope, SessionSearchResults};
use pi_tui::Component;

use crate::dialogs::intent::Intent;
use crate::diff_view::DiffHunk;

/// Identifies an open dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialogKey(pub u64);

pub trait Dialog: Component {
    /// Takes the intents since the last call.
    fn take_intents(&mut self) -> Vec<Intent>;

    /// Whether the dialog is finished and can be removed from the screen.
    fn is_done(&self) -> bool;

    /// Sets the number of terminal rows, when the dialog opens and whenever it changes.
    ///
    /// A dialog that does not fit drops its least important rows.
    fn set_rows(&mut self, _rows: usize) {}

    /// Returns when the dialog next changes without input, such as a countdown.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Called when the time returned by [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Instant) {}

    /// Delivers something that became known after the dialog was opened.
    fn on_update(&mut self, _news: DialogUpdate) {}
}

/// Something that becomes known while a dialog is open.
#[derive(Clone, Debug)]
pub enum DialogUpdate {
    /// Sessions found so far, newest first.
    Sessions {
        scope: SessionScope,
        /// `None` if only the numbers changed.
        sessions: Option<Vec<Arc<SessionInfo>>>,
        /// Number of files read.
        loaded: usize,
        /// Number of files in total.
        total: usize,
        /// Whether the listing is complete.
        finished: bool,
    },
    /// What a search of the text of sessions found.
    SessionHits {
        query: String,
        result: Result<SessionSearchResults, String>,
    },
    /// The session file has been renamed as requested.
    SessionRenamed,
    /// The session file has been deleted.
    SessionDeleted(std::path::PathBuf),
    SignIn(LoginEvent),
    /// The sign-in prompts; answer with [`Intent::AnswerSignIn`].
    SignInPrompt(LoginPrompt),
    /// The sign-in withdrew its prompt, because the answer arrived another way.
    SignInPromptWithdrawn,
    SignInEnded(Result<(), String>),
    /// The available models changed.
    Models(Vec<Arc<pi_protocol::Model>>),
    Progress(crate::dialogs::ProgressUpdate),
    /// A change of a file has been undone as requested.
    HunkReverted {
        path: String,
        hunk: DiffHunk,
    },
    /// The external editor was closed with this text.
    Edited(String),
    /// A requested operation failed.
    Failed(String),
}
