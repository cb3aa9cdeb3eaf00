//! The terminal application from end to end: keys in, a screen out, a model on the loopback.

mod commands;
mod conversation;
mod endings;
mod examples;
mod extensions;
mod hostile;
mod keys;
mod passing_on;
mod phases;
mod prompt;
mod sessions;
mod sign_in;
