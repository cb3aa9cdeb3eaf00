//! Replays the fuzzing corpora, with some mutations from a fixed seed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests fail and run_check as tests do"
)]

mod markdown_lines;
mod replay;
#[cfg(unix)]
mod shell_scripts;
