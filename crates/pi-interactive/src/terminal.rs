//! The terminal and the system around it: setup, clipboard, external editor, crash records.

pub(crate) mod clipboard;
pub(crate) mod crash;
pub(crate) mod environment;
pub(crate) mod external_editor;
pub(crate) mod setup;
pub(crate) mod theme_watch;
