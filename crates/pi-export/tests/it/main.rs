//! Integration tests of exports.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod export;
