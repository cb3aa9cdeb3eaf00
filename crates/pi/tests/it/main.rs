//! End-to-end tests of the `pi` binary with real processes, pipes and signals, temporary homes, and a scripted model
//! server on the loopback interface.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "failed setup should fail the test immediately; a skipped test says why"
)]

#[cfg(unix)]
mod acp;
#[cfg(target_os = "linux")]
mod attach;
#[cfg(target_os = "linux")]
mod attached_components;
#[cfg(target_os = "linux")]
mod background_children;
#[cfg(target_os = "linux")]
mod background_processes;
mod bad_input;
#[cfg(unix)]
mod child_environment;
mod command_line;
mod component_table;
mod configuration_changes;
#[cfg(target_os = "linux")]
mod disk_faults;
mod docs;
mod emacs_client;
mod example_extensions;
mod extension_abuse;
mod extension_agents;
mod extension_children;
mod extension_driver;
mod extension_library;
mod extension_model_calls;
mod extension_output;
mod extension_sdk_calls;
mod extension_tolerance;
mod file_history;
mod fsck;
mod harness;
mod hostile_input_page;
mod hostile_model;
mod hostile_repository;
mod images;
#[cfg(unix)]
mod interactive;
mod json_mode;
mod kill_recovery;
mod logging;
#[cfg(target_os = "linux")]
mod long_session;
mod mcp;
mod mcp_http_server;
mod mcp_interaction;
mod mcp_lifecycle;
mod mcp_oauth;
mod mcp_packages;
mod mcp_registration;
mod mcp_serve;
mod neovim_client;
mod node_package;
mod packages;
mod permissions;
mod plan_mode;
mod print_mode;
mod reference_client;
mod rpc_mode;
#[cfg(unix)]
mod sandbox;
mod screen_bridge;
mod search_commands;
mod serve;
mod session_interop;
mod signals;
#[cfg(target_os = "linux")]
mod sub_agents;
#[cfg(unix)]
mod terminal;
mod unresponsive_hooks;
mod unusual_environment;
#[cfg(unix)]
mod web_ui;
