//! Selectors and dialogs: created from data, driven by keys and mouse, answered with intents.
//!
//! A dialog is a `DialogBody` in a `DialogFrame`. The frame implements the
//! [`Dialog`](crate::dialogs::dialog::Dialog) contract and caches the painted lines; the body has the content. None of
//! them accesses a session, a file or the terminal. [`DialogContents`] opens them.

mod canvas;
mod contents;
mod countdown;
pub mod dialog;
mod event_queue;
mod field;
mod first_start;
mod fork;
mod frame;
mod hint;
pub mod intent;
mod intent_sink;
mod list_body;
mod login;
mod model;
mod model_name;
mod picker;
mod plain_text;
mod progress;
mod prompt;
mod question;
mod reader;
mod resources;
mod resume;
mod review;
mod scoped_models;
mod search_list;
mod secret_field;
mod settings;
#[cfg(test)]
mod testing;
mod text_editor;
mod theme;
mod thinking;
mod tree;
mod trust;
mod type_ahead;

pub use contents::DialogContents;
pub use fork::ForkPoint;
pub use model::ModelDialogOptions;
pub use progress::ProgressUpdate;
pub use question::QuestionOptions;
pub use resources::{ResourceEntry, ResourceScope, ToggleState, ToggleStore};
pub use review::{ReviewFile, ReviewHunk};
pub use scoped_models::EnabledModel;
pub use search_list::{NoteColumn, SearchEntry, SearchListOptions};
pub use settings::SettingsDialogOptions;
pub use theme::ThemeDialogOptions;
pub use tree::{ReadEntry, SummaryQuestion, TreeDialogOptions};
