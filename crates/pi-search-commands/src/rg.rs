//! `rg`: searches the contents of files.

mod files;
mod options;
mod printer;
mod search;

use std::ffi::OsString;
use std::io::{Stdout, Write};

use ignore::types::TypesBuilder;

use crate::Failure;
use options::{FLAGS, Mode, Options};

/// Runs the command.
pub(crate) fn run(words: Vec<OsString>, mut stdout: Stdout) -> Result<u8, Failure> {
    let options = Options::parse(words)?;
    match options.mode {
        Mode::Help => {
            writeln!(
                stdout,
                "usage: rg [OPTIONS] PATTERN [PATH ...]\n\n{}",
                crate::flags::list(FLAGS)
            )?;
        }
        Mode::Version => writeln!(stdout, "rg of pi {}", env!("CARGO_PKG_VERSION"))?,
        Mode::TypeList => {
            for definition in TypesBuilder::new().add_defaults().definitions() {
                let globs = definition.globs().join(", ");
                writeln!(stdout, "{}: {globs}", definition.name())?;
            }
        }
        Mode::Files => return files::run(&options, stdout),
        _ => return search::run(&options, stdout),
    }
    Ok(crate::FOUND)
}
