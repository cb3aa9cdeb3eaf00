//! Integration tests of the files under the agent directory.

#![expect(
    clippy::unwrap_used,
    reason = "failed setup must fail the test immediately"
)]

mod auth_file;
#[cfg(target_os = "linux")]
mod disk_faults;
mod models_collection;
mod models_store;
#[cfg(unix)]
mod processes;
mod project_changes;
#[cfg(unix)]
mod reference_auth;
#[cfg(unix)]
mod resource_attacks;
mod resource_packages;
mod resource_prompts;
mod resource_toggles;
mod resources;
mod settings;
mod startup_migration;
mod trust;
mod trust_test_env;
