//! Integration tests of pi-ai: the public API against loopback servers.

mod sign_in;
mod vocabulary;
