//! Network I/O: HTTP, server-sent events, AWS event streams, WebSocket, proxies, retries and timeouts.
//!
//! Nothing here is specific to a provider.

mod body;
mod connect;
mod download;
pub(crate) mod event_stream;
mod headers;
mod http;
mod network_error;
mod proxy;
mod retry;
mod run;
pub(crate) mod sse;
mod status;
mod tls;
mod tunnel;
pub(crate) mod websocket;

pub(crate) use body::read_body;
pub use download::Download;
pub(crate) use http::user_agent;
pub use http::{HttpClient, HttpSettings};
pub(crate) use network_error::{Route, error_chain, root_cause, send_error};
pub(crate) use retry::{http_date_ms, is_retryable};
pub(crate) use run::{drive, stream};
pub(crate) use status::classify_status;
