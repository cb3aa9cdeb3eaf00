//! End-to-end tests of interactive mode in a pseudo-terminal, with a scripted model server.

mod commands;
mod conversation;
mod examples;
mod extensions;
mod hostile;
mod keys;
mod login;
mod prompt;
mod request_phases;
mod sessions;
mod sharing;
mod suspend_and_crash;
