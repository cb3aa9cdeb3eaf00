//! Integration tests of sessions as programs hold them.

#![expect(
    clippy::unwrap_used,
    reason = "a set-up that fails must fail the test at once"
)]

mod export;
mod extensions;
mod hostile_repository;
mod replacement;
mod secrets;
mod start;
mod test_env;
