//! The tables of the manual that come from the code.
//!
//! The tables are made by a test of the program (`pi/src/docs_command/tables.rs`), because only there everything they
//! are made of is in reach. The test checks the pages; told so, it writes them.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The test that knows the tables.
const TEST: &str = "docs_command::tables::tables_of_the_manual_are_those_of_the_code";

/// Tells the test to write.
const UPDATE: &str = "PI_UPDATE_MANUAL";

/// What to do about a table that is out of date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// Writes or checks the tables.
pub(crate) fn run(mode: Mode) -> Result<String> {
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
        Mode::Write => command.env(UPDATE, "1"),
        Mode::Check => command.env_remove(UPDATE),
    };
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!(
            "the tables of docs/ are out of date or cannot be made; `cargo xtask docs` writes them"
        );
    }
    Ok("the tables of docs/ are those of the code".to_owned())
}
