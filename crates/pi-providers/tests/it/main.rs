//! Integration tests of pi-providers: the public API against loopback servers.

mod proxy_stream;
