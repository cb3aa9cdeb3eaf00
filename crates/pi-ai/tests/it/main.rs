//! Integration tests of pi-ai: the public API against loopback servers.

mod proxy_stream;
mod sign_in;
mod vocabulary;
