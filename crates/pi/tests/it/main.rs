//! The binary, run as users, scripts and editors run it: real processes, pipes and signals, temporary
//! homes, and a scripted model on the loopback interface.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a set-up that fails must fail the test at once"
)]

mod bad_input;
#[cfg(unix)]
mod child_environment;
mod command_line;
mod component_table;
#[cfg(target_os = "linux")]
mod disk_faults;
mod docs;
mod example_extensions;
mod extension_abuse;
mod extension_driver;
mod extension_parts;
mod fsck;
mod hostile_model;
mod hostile_page;
mod hostile_repository;
#[cfg(unix)]
mod interactive;
mod json_mode;
mod killed;
mod packages;
mod print_mode;
mod process;
mod reference_client;
mod rpc_mode;
mod signals;
mod surroundings;
#[cfg(unix)]
mod terminal;
mod travel;
