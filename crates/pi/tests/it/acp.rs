//! The Agent Client Protocol: `pi acp` as a process, driven by a client in this test and by the official SDK.

mod attacks;
mod client;
mod client_files;
mod elsewhere;
mod modes;
mod official_sdk;
mod other_clients;
mod questions;
mod same_files;
mod sdk_scenarios;
mod sessions;
mod turns;
