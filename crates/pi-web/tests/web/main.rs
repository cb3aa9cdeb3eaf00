//! The assets, and the live page in a real browser against a server whose events a test controls.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing setup must fail the test"
)]

mod assets;
mod page;
mod scripted_host;
