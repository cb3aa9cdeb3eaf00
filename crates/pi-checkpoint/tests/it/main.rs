//! Histories over simulated sessions.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "failed setup should fail the test immediately"
)]

mod changed_since;
mod kill_points;
mod limits;
mod odd_paths;
mod random_trees;
mod shell_commands;
mod simulated_session;
