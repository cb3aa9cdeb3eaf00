//! pi as an agent of the Agent Client Protocol (version 1), for editors and other clients.
//!
//! A client starts one process and opens any number of sessions in it. Messages are lines of JSON-RPC 2.0 in both
//! directions. Requests are handled in the order they arrive, each until it first has to wait.

mod agent;
mod backing;
mod call_ids;
mod capabilities;
mod client_files;
mod commands;
mod config_options;
mod connection;
mod content;
mod error;
mod feed;
mod file_changes;
mod login;
mod modes;
mod params;
mod permissions;
mod plan;
mod prompt;
mod replay;
mod server;
mod session;
mod session_setup;
mod session_ui;
mod terminal_output;
mod tool_call;
mod trust;
mod updates;

pub use server::{AcpOptions, AcpOutcome, SessionOptionsFactory, serve};
pub use trust::AcpTrustPrompt;
