//! Integration tests of installing packages: a registry on the loopback interface, real repositories.

#![expect(
    clippy::unwrap_used,
    reason = "a set-up that fails must fail the test at once"
)]

#[cfg(unix)]
mod git;
mod npm;
#[cfg(unix)]
mod release;
mod test_env;
