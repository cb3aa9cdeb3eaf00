//! The terminal application of pi: transcript, editor, dialogs and slash commands.
