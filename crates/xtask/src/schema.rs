//! Generates `docs/schema`: the JSON Schemas of the protocol, and TypeScript types made from them. The description of the
//! routes of `pi serve` contains them, too.
//!
//! A test (`schema/files.rs`) does the work, because only tests build `pi-protocol` with schemas: release builds of the
//! workspace must not contain them. The test checks the files, or writes them if the environment says so.

#[cfg(test)]
mod files;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod typescript;

use std::process::Command;

use anyhow::{Context as _, Result, bail};

const TEST: &str = "schema::files::generated_schemas_are_up_to_date";

/// Makes the test write the files.
const UPDATE: &str = "PI_UPDATE_SCHEMA";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaMode {
    Write,
    Check,
}

pub(crate) fn run(mode: SchemaMode) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--quiet", "--package", "xtask", "--bin", "xtask"]);
    command.args(["--", "--exact", TEST]);
    match mode {
        SchemaMode::Write => command.env(UPDATE, "1"),
        SchemaMode::Check => command.env_remove(UPDATE),
    };
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("docs/schema is out of date\nhint: run `cargo xtask schema` to regenerate it");
    }
    Ok("docs/schema is up to date".to_owned())
}
