//! The terminal and the system around it: setup, clipboard, external editor, crash records.

pub(crate) mod clipboard;
pub(crate) mod crash;
pub(crate) mod editor_command;
pub(crate) mod environment;
pub(crate) mod external_editor;
pub(crate) mod file_link;
pub(crate) mod setup;
pub(crate) mod theme_watch;
