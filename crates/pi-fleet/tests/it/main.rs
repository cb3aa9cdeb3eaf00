//! The engines, and batches with the real pi binary against a scripted model.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failing setup must fail the test; a skipped test says why"
)]

mod attach;
mod barrier_kills;
mod chaos;
mod command_errors;
mod commands;
mod conformance;
mod features;
mod finished_workspaces;
mod fixture;
mod interruptions;
mod long_tasks;
mod machines;
mod model_server;
mod nats;
mod nats_server;
mod outages;
mod overhead;
mod shared_limits;
mod telemetry;
mod terminals;
mod undisturbed;
