//! Every selector and dialog: made from data, moved by keys and mouse, answered with intents.
//!
//! A dialog is a pane in a window. The window keeps the contract of dialogs and what was painted;
//! the pane knows what it asks. None of them touches a session, a file or the terminal.

mod countdown;
mod field;
mod first_start;
mod fork;
mod hint;
mod list_pane;
mod login;
mod mailbox;
mod model;
mod outbox;
mod picker;
mod plain;
mod progress;
mod prompt;
mod question;
mod reader;
mod resources;
mod resume;
mod scoped_models;
mod secret_field;
mod settings;
mod sheet;
#[cfg(test)]
mod testing;
mod text_editor;
mod theme;
mod thinking;
mod tree;
mod trust;
mod window;

pub(crate) use first_start::FirstStartDialog;
pub(crate) use fork::{ForkDialog, ForkPoint};
pub(crate) use login::{LoginDialog, LoginOption, LogoutDialog};
pub(crate) use model::{ModelChoices, ModelDialog};
pub(crate) use progress::{Progress, ProgressDialog};
pub(crate) use prompt::PromptDialog;
pub(crate) use question::{Question, QuestionDialog};
pub(crate) use reader::ReaderDialog;
pub(crate) use resources::{BoardEntry, BoardSide, Mark, ResourceBoard, ResourcesDialog};
pub(crate) use resume::ResumeDialog;
pub(crate) use scoped_models::{EnabledModel, ScopedModelsDialog};
pub(crate) use settings::{SettingChoices, SettingsDialog};
pub(crate) use text_editor::EditorDialog;
pub(crate) use theme::ThemeChoices;
pub(crate) use thinking::ThinkingDialog;
pub(crate) use tree::{SummaryQuestion, TreeChoices, TreeDialog};
pub(crate) use trust::TrustDialog;
