//! Replays what fuzzing began from and what it found, with some mutations from a fixed seed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests fail and tell as tests do"
)]

mod markdown_lines;
mod replay;
