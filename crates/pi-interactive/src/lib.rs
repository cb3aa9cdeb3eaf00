//! The terminal application of pi: transcript, editor, dialogs and slash commands.

mod block;
mod dialog;
mod footer;
mod header;
mod intent;
mod keys;
mod look;
mod queue_view;
mod theme_choice;
mod transcript;
mod working;
