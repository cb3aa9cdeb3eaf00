//! Bytes in, frames out: HTTP, server-sent events, AWS event streams, WebSocket, proxies, timers.
//!
//! Nothing here knows a provider's name.

mod body;
mod connect;
mod download;
pub(crate) mod event_stream;
mod failure;
mod headers;
mod http;
mod proxy;
mod retry;
mod run;
pub(crate) mod sse;
mod status;
mod tls;
mod tunnel;
pub(crate) mod websocket;

pub(crate) use body::read_whole;
pub use download::Download;
pub(crate) use failure::{Route, innermost, unanswered, with_causes};
pub(crate) use http::user_agent;
pub use http::{HttpClient, HttpSettings};
pub(crate) use retry::{asks_for_retry, http_date_ms};
pub(crate) use run::{drive, stream};
pub(crate) use status::classify_status;
