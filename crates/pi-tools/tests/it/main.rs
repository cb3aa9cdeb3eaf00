//! Integration tests of pi-tools: the tools on real files and processes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set up its files and processes has failed"
)]

#[cfg(unix)]
mod bash;
mod files;
#[cfg(target_os = "linux")]
mod much_output;
#[cfg(target_os = "linux")]
mod process_tree;
mod search;
mod support;
#[cfg(unix)]
mod unix_files;
#[cfg(unix)]
mod user_shell;
