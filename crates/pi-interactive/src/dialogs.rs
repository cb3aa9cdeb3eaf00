//! Selectors and dialogs: created from data, driven by keys and mouse, answered with intents.
//!
//! A dialog is a `DialogBody` in a `DialogFrame`. The frame implements the
//! [`Dialog`](crate::dialogs::dialog::Dialog) contract and caches the painted lines; the body has the content. None of
//! them accesses a session, a file or the terminal.

mod canvas;
mod countdown;
pub(crate) mod dialog;
mod event_queue;
mod field;
mod first_start;
mod fork;
mod frame;
mod hint;
pub(crate) mod intent;
mod intent_sink;
mod list_body;
mod login;
mod model;
mod picker;
mod plain_text;
mod progress;
mod prompt;
mod question;
mod reader;
mod resources;
mod resume;
mod scoped_models;
mod secret_field;
pub(crate) mod setting_change;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
mod text_editor;
mod theme;
mod thinking;
mod tree;
mod trust;

pub(crate) use first_start::FirstStartDialog;
pub(crate) use fork::{ForkDialog, ForkPoint};
pub(crate) use login::{LoginDialog, LoginOption, LogoutDialog};
pub(crate) use model::{ModelDialog, ModelDialogOptions};
pub(crate) use progress::{ProgressDialog, ProgressUpdate};
pub(crate) use prompt::PromptDialog;
pub(crate) use question::{QuestionDialog, QuestionOptions};
pub(crate) use reader::ReaderDialog;
pub(crate) use resources::{
    ResourceEntry, ResourceScope, ResourcesDialog, ToggleState, ToggleStore,
};
pub(crate) use resume::ResumeDialog;
pub(crate) use scoped_models::{EnabledModel, ScopedModelsDialog};
pub(crate) use settings::{SettingsDialog, SettingsDialogOptions};
pub(crate) use text_editor::EditorDialog;
pub(crate) use theme::ThemeDialogOptions;
pub(crate) use thinking::ThinkingDialog;
pub(crate) use tree::{SummaryQuestion, TreeDialog, TreeDialogOptions};
pub(crate) use trust::TrustDialog;
