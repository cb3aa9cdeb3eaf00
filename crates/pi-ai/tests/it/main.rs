//! Integration tests of pi-ai: the public API against loopback servers.

mod message_json;
mod proxy_stream;
mod sign_in;
