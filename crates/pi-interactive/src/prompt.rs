//! The prompt: its editor, its keys, and the messages queued behind it.

pub(crate) mod double_press;
pub(crate) mod editor_area;
pub(crate) mod queue_view;
