//! The server over its sockets.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod api;
mod attacks;
mod support;
