//! Integration tests of the session runtime.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod commands;
mod extension_costs;
mod extensions;
mod host;
mod hostile_repository;
mod interaction;
#[cfg(unix)]
mod live;
mod replacement;
mod secrets;
mod session_state;
mod start;
mod test_env;
