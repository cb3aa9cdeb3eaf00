//! Serves the sessions of a host over HTTP: on a Unix socket, and on loopback TCP for browsers.
//!
//! Every request passes the guard ([`guard`](self)): a credential, the `Host` and `Origin` headers, and the rules for
//! requests that change something. The routes are those of `docs/server.md`; sessions speak the line protocol of
//! `pi-host`, so there is no second vocabulary.

mod assets;
mod body;
mod credentials;
mod elsewhere;
mod events;
#[doc(hidden)]
pub mod fuzz_support;
mod guard;
mod host_events;
mod listen;
mod mcp;
mod problem;
mod qr_code;
mod requests;
mod routes;
mod server;
mod session_list;
mod sessions;
mod websocket;

pub use listen::{ListenError, ListenOptions};
pub use mcp::{McpConnection, McpEndpoint};
pub use qr_code::terminal_qr_code;
pub use routes::{ROUTES, RouteId, RouteRow};
pub use server::{
    BoxedReader, BoxedWriter, ConnectionHandler, PageThemeSource, PairingOffer, ServeOptions,
    Server, SessionOptionsFactory,
};
