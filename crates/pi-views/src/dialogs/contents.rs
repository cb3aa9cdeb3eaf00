//! What a dialog shows, as data.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pi_protocol::{LoginOption, Model, ThinkingLevel, TrustChoice};
use pi_tui::Component;

use super::dialog::Dialog;
use super::first_start::FirstStartDialog;
use super::fork::{ForkDialog, ForkPoint};
use super::login::{LoginDialog, LogoutDialog};
use super::model::{ModelDialog, ModelDialogOptions};
use super::progress::ProgressDialog;
use super::prompt::PromptDialog;
use super::question::{QuestionDialog, QuestionOptions};
use super::reader::ReaderDialog;
use super::resources::{ResourceScope, ResourcesDialog, ToggleStore};
use super::resume::ResumeDialog;
use super::review::{ReviewDialog, ReviewFile};
use super::scoped_models::{EnabledModel, ScopedModelsDialog};
use super::search_list::{SearchListDialog, SearchListOptions};
use super::settings::{SettingsDialog, SettingsDialogOptions};
use super::text_editor::EditorDialog;
use super::thinking::ThinkingDialog;
use super::tree::{TreeDialog, TreeDialogOptions};
use super::trust::TrustDialog;
use crate::theme::ui_theme::UiTheme;

/// A dialog with the data it shows.
pub enum DialogContents {
    Settings(SettingsDialogOptions),
    Models(ModelDialogOptions),
    Thinking {
        levels: Vec<ThinkingLevel>,
        current: ThinkingLevel,
        default: Option<ThinkingLevel>,
    },
    ScopedModels {
        available: Vec<Arc<Model>>,
        /// `None` if all models are enabled.
        enabled: Option<Vec<EnabledModel>>,
    },
    Fork(Vec<ForkPoint>),
    Tree(TreeDialogOptions),
    /// Asks whether to trust a project that is being opened.
    AskTrust {
        cwd: PathBuf,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    },
    /// Changes the saved trust of a project.
    ChangeTrust {
        cwd: PathBuf,
        choices: Vec<TrustChoice>,
        /// Sentences about the current state.
        state: Vec<String>,
        /// Index of the saved choice.
        saved: Option<usize>,
    },
    Login {
        options: Vec<LoginOption>,
        /// The provider to sign in to right away.
        provider: Option<String>,
    },
    Logout(Vec<LoginOption>),
    Resume {
        /// The file of the current session.
        current: Option<PathBuf>,
        now_ms: i64,
        /// What to search for in the text of sessions, instead of listing them.
        search: Option<String>,
    },
    Reader {
        title: &'static str,
        content: Box<dyn Component>,
    },
    Hotkeys,
    SearchList(SearchListOptions),
    Review(Vec<ReviewFile>),
    /// Asks whether to import a session file.
    Import {
        path: PathBuf,
        now: Instant,
    },
    FirstStart {
        /// Names of the providers that can be used already.
        ready: Vec<String>,
    },
    Choose {
        question: QuestionOptions,
        choices: Vec<String>,
        asked_at: Instant,
    },
    Confirm {
        question: QuestionOptions,
        asked_at: Instant,
    },
    Line {
        question: QuestionOptions,
        /// Shown while the input is empty.
        example: Option<String>,
        asked_at: Instant,
    },
    /// Asks for text of several lines.
    Text {
        question: QuestionOptions,
        text: String,
    },
    Progress {
        title: &'static str,
        subject: String,
    },
    Resources {
        store: Box<dyn ToggleStore>,
        scope: ResourceScope,
    },
}

impl DialogContents {
    /// Opens the dialog.
    pub fn open(self, ui: UiTheme) -> Box<dyn Dialog> {
        match self {
            Self::Settings(options) => Box::new(SettingsDialog::open(ui, options)),
            Self::Models(options) => Box::new(ModelDialog::open(ui, options)),
            Self::Thinking {
                levels,
                current,
                default,
            } => Box::new(ThinkingDialog::open(ui, levels, current, default)),
            Self::ScopedModels { available, enabled } => {
                Box::new(ScopedModelsDialog::open(ui, available, enabled))
            }
            Self::Fork(points) => Box::new(ForkDialog::open(ui, points)),
            Self::Tree(options) => Box::new(TreeDialog::open(ui, options)),
            Self::AskTrust {
                cwd,
                choices,
                changes,
            } => Box::new(TrustDialog::ask(ui, cwd, choices, changes)),
            Self::ChangeTrust {
                cwd,
                choices,
                state,
                saved,
            } => Box::new(TrustDialog::change(ui, cwd, choices, state, saved)),
            Self::Login { options, provider } => {
                Box::new(LoginDialog::open(ui, options, provider.as_deref()))
            }
            Self::Logout(stored) => Box::new(LogoutDialog::open(ui, stored)),
            Self::Resume {
                current,
                now_ms,
                search,
            } => Box::new(ResumeDialog::open(ui, current, now_ms, search)),
            Self::Reader { title, content } => Box::new(ReaderDialog::open(ui, title, content)),
            Self::SearchList(options) => Box::new(SearchListDialog::open(ui, options)),
            Self::Review(files) => Box::new(ReviewDialog::open(ui, files)),
            Self::Hotkeys => Box::new(ReaderDialog::hotkeys(ui)),
            Self::Import { path, now } => Box::new(QuestionDialog::import(ui, path, now)),
            Self::FirstStart { ready } => Box::new(FirstStartDialog::open(ui, ready)),
            Self::Choose {
                question,
                choices,
                asked_at,
            } => Box::new(QuestionDialog::choose(ui, question, &choices, asked_at)),
            Self::Confirm { question, asked_at } => {
                Box::new(QuestionDialog::confirm(ui, question, asked_at))
            }
            Self::Line {
                question,
                example,
                asked_at,
            } => Box::new(PromptDialog::open(
                ui,
                question,
                example.as_deref(),
                asked_at,
            )),
            Self::Text { question, text } => Box::new(EditorDialog::open(ui, question, &text)),
            Self::Progress { title, subject } => {
                Box::new(ProgressDialog::open(ui, title, &subject))
            }
            Self::Resources { store, scope } => Box::new(ResourcesDialog::open(ui, store, scope)),
        }
    }
}
