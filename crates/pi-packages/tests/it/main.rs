//! Integration tests of the package installer, with a loopback registry and real git repositories.

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
