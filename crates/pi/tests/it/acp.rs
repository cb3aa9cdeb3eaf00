//! The Agent Client Protocol: `pi acp` as a process, driven by a client in this test and by the official SDK.

mod attacks;
mod client;
mod official_sdk;
mod questions;
mod sessions;
mod turns;
