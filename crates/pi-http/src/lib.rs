//! Network I/O: HTTP, server-sent events, WebSocket, proxies, retry delays and timeouts.
//!
//! Nothing here is specific to a provider. [`HttpClient`] holds the connections that sign-in, model
//! requests and downloads share; the crates above describe requests and decode responses.
//!
//! ```
//! use pi_http::SseParser;
//!
//! let mut parser = SseParser::new();
//! let mut data = Vec::new();
//! for chunk in ["data: {\"a\"", ": 1}\n", "\n"] {
//!     parser.push(chunk.as_bytes(), |event| {
//!         data.push(event.data.to_owned());
//!         Ok(())
//!     })?;
//! }
//! assert_eq!(data, ["{\"a\": 1}"]);
//! # Ok::<(), pi_protocol::ProviderError>(())
//! ```

mod body;
mod client;
mod connect;
mod download;
mod headers;
mod known_secrets;
mod network_error;
mod proxy;
pub mod retry;
mod sse;
mod status;
mod tls;
mod tunnel;
mod websocket;

pub use body::{read_body, read_body_within};
pub use client::{HttpClient, HttpSettings, user_agent};
pub use connect::{ConnectState, with_connect_reporting};
pub use download::Download;
pub use headers::{
    HeaderOverrides, ResponseHead, merge_headers, response_head, set_header, to_header_map,
};
pub use known_secrets::KnownSecrets;
pub use network_error::{Route, TimeoutKind, error_chain, read_error, root_cause, send_error};
pub use sse::{SseEvent, SseParser, SsePosition};
pub use status::classify_status;
pub use websocket::{WebSocket, WebSocketMessage};
