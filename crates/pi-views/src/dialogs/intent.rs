//! Actions requested by dialogs.
//!
//! Dialogs have no side effects: they return intents, and the application applies them to the session, the
//! settings or the screen.

use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{
    AuthKind, EntryId, Model, ScopedModel, SessionScope, ThinkingLevel, TrustChoice,
};

use pi_protocol::settings::SettingChange;

use crate::diff_view::DiffHunk;

/// An action a dialog requests from the application.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    SetModel(Arc<Model>),
    /// Use a model in this session and as the default.
    SaveDefaultModel(Arc<Model>),
    SetThinking(ThinkingLevel),
    /// Use a thinking level in this session and as the default.
    SaveDefaultThinking(ThinkingLevel),
    /// Set the models to cycle through in this session; `None` means all.
    SetScope(Option<Vec<ScopedModel>>),
    /// Save the models to cycle through as `enabledModels` patterns; `None` means all.
    ///
    /// Models that are currently unavailable stay in the list.
    SaveScope(Option<Vec<String>>),
    /// Change a user setting and apply it.
    ChangeSetting(SettingChange),
    /// Preview a theme without saving it; takes the value of the setting, so `light/dark` pairs also work.
    PreviewTheme(String),
    /// Restore the theme of the settings.
    EndThemePreview,
    /// Navigate to another entry of the session tree.
    NavigateTree {
        target: EntryId,
        summarize: Summarize,
    },
    /// Set or clear the label of an entry.
    SetLabel {
        entry: EntryId,
        label: Option<String>,
    },
    /// Start a session from the entries before a user message.
    Fork {
        entry: EntryId,
    },
    Resume(PathBuf),
    /// Resume a session and scroll to an entry.
    ResumeAt {
        path: PathBuf,
        entry: EntryId,
    },
    /// Set or clear the name of another session.
    RenameSession {
        path: PathBuf,
        name: Option<String>,
    },
    DeleteSession(PathBuf),
    /// List the sessions of this project or of all, delivered as
    /// [`DialogUpdate::Sessions`](crate::dialogs::dialog::DialogUpdate).
    ListSessions(SessionScope),
    /// Search the text of sessions; the result arrives as
    /// [`DialogUpdate::SessionHits`](crate::dialogs::dialog::DialogUpdate).
    SearchSessions {
        /// The last word may be incomplete.
        query: String,
        scope: SessionScope,
        /// Whether the same was searched before, while sessions are being indexed: the search waits a moment.
        is_repeated: bool,
    },
    /// Import a copy of a session file and open it.
    Import(PathBuf),
    Trust(TrustChoice),
    /// Sign in to a provider: in the browser, with a device code, or with an API key and further details.
    SignIn {
        provider: String,
        kind: AuthKind,
    },
    /// Answer a prompt of the current sign-in.
    AnswerSignIn(String),
    CancelSignIn,
    StoreKey {
        provider: String,
        key: SecretText,
    },
    SignOut {
        provider: String,
    },
    FinishFirstStart,
    OpenLogin,
    /// Answer to a question of the application or of an extension.
    Answer(QuestionAnswer),
    /// Replace the text of the prompt.
    SetPromptText(String),
    /// Insert text at the cursor of the prompt.
    InsertPromptText(String),
    /// Submit text as if it had been typed.
    Submit(String),
    /// Undo a change of a file; the result arrives as
    /// [`DialogUpdate::HunkReverted`](crate::dialogs::dialog::DialogUpdate).
    RevertHunk {
        path: String,
        hunk: DiffHunk,
    },
    CopyText(String),
    OpenUrl(String),
    /// Open a text in the external editor; the result arrives as
    /// [`DialogUpdate::Edited`](crate::dialogs::dialog::DialogUpdate).
    EditExternally(String),
}

/// Text that must not be shown, printed or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(pub String);

impl std::fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Whether the branch being left is summarized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Summarize {
    /// Not asked about, or there is nothing to summarize.
    #[default]
    Skip,
    /// The user is asked after choosing what to restore.
    Ask,
    No,
    /// With the default instructions.
    Plain,
    /// With additional instructions from the user.
    With(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionAnswer {
    Confirmed(bool),
    /// Index of the chosen option.
    Chosen(usize),
    Text(String),
    /// The dialog was closed, or timed out.
    Dismissed,
}
