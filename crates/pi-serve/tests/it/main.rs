//! The server over its sockets.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod api;
mod attacks;
#[cfg(unix)]
#[path = "../../examples/client.rs"]
mod client_example;
mod elsewhere;
mod mcp;
mod node_tools;
mod replacement;
mod support;
