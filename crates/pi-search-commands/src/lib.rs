//! `rg` and `fd` for the model's shell, on machines that do not have them.
//!
//! Models search with `rg` and `fd`, and pi contains their engines for its own tools. Started under one of these names, pi
//! is that command, with the options that models use. An option that is missing is an error that names it, so that the
//! model can choose another way.

mod fd;
mod flags;
mod rg;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// The commands.
pub const NAMES: [&str; 2] = ["rg", "fd"];

/// Something was found.
pub(crate) const FOUND: u8 = 0;

/// Nothing was found, and nothing failed.
pub(crate) const NOT_FOUND: u8 = 1;

/// Returns the command of a program path: `rg` of `/home/me/bin/rg`.
pub fn command_of(program: &Path) -> Option<&'static str> {
    let name = program.file_stem()?;
    NAMES.into_iter().find(|known| name == *known)
}

/// Runs a command and returns its exit code.
pub fn run(command: &str, words: Vec<OsString>) -> u8 {
    let stdout = io::stdout();
    let code = match command {
        "rg" => rg::run(words, stdout),
        _ => fd::run(words, stdout),
    };
    match code {
        Ok(code) => code,
        // The reader has what it needs, as in `rg … | head`.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => FOUND,
        Err(failure) => {
            report(command, &failure.to_string());
            match command {
                "rg" => 2,
                _ => 1,
            }
        }
    }
}

/// Writes a problem to stderr.
pub(crate) fn report(command: &str, problem: &str) {
    // Without stderr, the exit code is what remains.
    drop(writeln!(io::stderr().lock(), "{command}: {problem}"));
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong, or an option is not supported.
    Usage(String),
    Output(io::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(problem) => formatter.write_str(problem),
            Self::Output(error) => write!(formatter, "cannot write: {error}"),
        }
    }
}

impl From<String> for Failure {
    fn from(problem: String) -> Self {
        Self::Usage(problem)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
