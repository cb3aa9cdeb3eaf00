//! Bytes in, frames out: HTTP, server-sent events, AWS event streams, WebSockets, proxies, timers.
//!
//! Nothing here knows a provider's name.

mod http;
mod run;
pub(crate) mod sse;

pub use http::HttpClient;
pub(crate) use run::stream;
