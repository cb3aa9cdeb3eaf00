//! The terminal application from end to end: keys in, a screen out, a model on the loopback.

mod commands;
mod conversation;
mod hostile;
mod prompt;
mod sessions;
