//! Integration tests of the package installer, with a loopback registry and real git repositories.

#![expect(
    clippy::unwrap_used,
    reason = "failed setup must fail the test immediately"
)]

#[cfg(unix)]
mod git;
mod npm;
#[cfg(unix)]
mod release;
mod test_env;
