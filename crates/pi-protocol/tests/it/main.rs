//! Integration tests of pi-protocol: the public API.

mod message_json;
