//! Views of the terminal application that need no session: dialogs, tool calls, themes, keybindings, text for display.
//!
//! A view is created from data, renders lines, and answers with intents. It does no I/O.

pub mod canvas;
pub mod dialogs;
pub mod diff_view;
pub mod file_change;
pub mod image_preview;
pub mod keys;
pub mod run_tally;
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
pub mod text;
pub mod theme;
pub mod tool_calls;
pub mod working_indicator;
