//! The terminal application of pi: transcript, editor, dialogs and slash commands.

mod block;
mod dialog;
mod intent;
mod keys;
mod look;
mod theme_choice;
