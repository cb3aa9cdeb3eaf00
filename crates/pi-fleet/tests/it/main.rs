//! The engines, and batches with the real pi binary against a scripted model.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failing setup must fail the test; a skipped test says why"
)]

mod barrier_kills;
mod chaos;
mod commands;
mod conformance;
mod fixture;
mod machines;
mod model_server;
mod nats;
mod nats_server;
