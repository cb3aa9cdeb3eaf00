//! Integration tests of pi-tools: the tools on real files and processes.

mod files;
mod support;
#[cfg(unix)]
mod unix_files;
