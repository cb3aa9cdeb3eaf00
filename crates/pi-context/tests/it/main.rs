//! Integration tests of pi-context with sessions on disk.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod planning;
