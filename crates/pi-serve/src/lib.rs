//! Serves the sessions of a host over HTTP: on a Unix socket, and on loopback TCP for browsers.
//!
//! Every request passes the guard ([`guard`](self)): a credential, the `Host` and `Origin` headers, and the rules for
//! requests that change something. The routes are those of `docs/server.md`; sessions speak the line protocol of
//! `pi-host`, so there is no second vocabulary.

mod assets;
mod body;
mod credentials;
mod events;
mod guard;
mod host_events;
mod listen;
mod problem;
mod requests;
mod routes;
mod server;
mod session_list;
mod sessions;
mod websocket;

pub use assets::Asset;
pub use listen::{ListenError, ListenOptions};
pub use routes::{ROUTES, RouteId, RouteRow};
pub use server::{
    BoxedReader, BoxedWriter, ConnectionHandler, FileSearch, PairingOffer, ServeOptions, Server,
    SessionOptionsFactory,
};
