//! Runs the binary against a real sshd on loopback, whose machine has fake GPU tools.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "failed setup should fail the test immediately; a skipped test says why"
)]

mod failures;
mod models;
mod relay;
mod setup;
mod test_pod;
