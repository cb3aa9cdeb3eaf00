//! The prompt: its editor, its keys, and the messages queued behind it.

pub(crate) mod double_press;
pub(crate) mod editor_area;
pub(crate) mod history_file;
#[cfg(test)]
mod key_tests;
pub(crate) mod queue_view;
