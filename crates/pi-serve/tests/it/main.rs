//! The server over its sockets.

mod api;
mod attacks;
mod support;
