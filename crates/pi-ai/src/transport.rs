//! Bytes in, frames out: HTTP, server-sent events, AWS event streams, WebSockets, proxies, timers.
//!
//! Nothing here knows a provider's name.

pub(crate) mod sse;
