//! Generates the tables of the manual that come from the code.
//!
//! A test of the binary (`pi/src/docs_command/tables.rs`) does the work, because only the binary sees all the data. The
//! test checks the pages, or rewrites them if the environment says so.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

const TEST: &str = "docs_command::tables::generated_tables_are_up_to_date";

/// Makes the test write the pages.
const UPDATE: &str = "PI_UPDATE_MANUAL";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocsMode {
    Write,
    Check,
}

pub(crate) fn run(mode: DocsMode) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "test",
        "--quiet",
        "--package",
        "pi",
        "--bin",
        "pi",
        "--",
        "--exact",
        TEST,
    ]);
    match mode {
        DocsMode::Write => command.env(UPDATE, "1"),
        DocsMode::Check => command.env_remove(UPDATE),
    };
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!(
            "the tables in docs/ are out of date\nhint: run `cargo xtask docs` to regenerate them"
        );
    }
    Ok("the tables in docs/ are up to date".to_owned())
}
