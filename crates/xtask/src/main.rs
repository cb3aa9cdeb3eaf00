//! Development tasks that need more than a line of shell: `cargo xtask <task>`.

mod docs;
mod extension_packages;
mod layers;
mod models;
mod soak;
mod start_order;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask <task>

Tasks:
  extension-packages [--ours PROGRAM] [--reference PROGRAM] [--work FOLDER] [--only NAME]
          Installs extension packages of others with npm, loads each in PROGRAM (target/debug/pi)
          and in the TypeScript pi, and writes docs/extensions-compatibility.md.
  models --from PATH [--generated-at TIME]
          Writes the model catalog of pi-ai. PATH is a folder of provider files
          (<provider>.json: API -> id -> record) or a models.dev document, whose
          date TIME (RFC 3339) gives, since the document has none.
  start-order PROFILE...
          Writes crates/pi/start.order, the functions that a start runs, from callgrind profiles of
          the ways to start; the linker lays them out side by side.
  layers  Checks which crate may depend on which.
  docs [--check]
          Writes the tables of the manual that come from the code: flags, settings, variables,
          keys, commands. With --check it only tells whether they are up to date.
  soak [--binary PROGRAM] [--turns N] [--entries N] [--reloads N]
          Drives PROGRAM (target/release/pi) through a day of use in a few minutes and samples
          its memory, descriptors and threads; fails if one of them grows.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (told, code) = match run(&arguments) {
        Ok(report) => (
            writeln!(std::io::stdout(), "{}", report.trim_end()),
            ExitCode::SUCCESS,
        ),
        Err(error) => (
            writeln!(std::io::stderr(), "error: {error:#}"),
            ExitCode::FAILURE,
        ),
    };
    if told.is_ok() {
        code
    } else {
        ExitCode::FAILURE
    }
}

fn run(arguments: &[String]) -> Result<String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] | ["help" | "-h" | "--help", ..] => Ok(USAGE.to_owned()),
        ["extension-packages", options @ ..] => {
            extension_packages::run(&extension_packages::Options::parse(options)?)
        }
        ["docs"] => docs::run(docs::Mode::Write),
        ["docs", "--check"] => docs::run(docs::Mode::Check),
        ["layers"] => layers::run(),
        ["start-order", profiles @ ..] => start_order::run(profiles),
        ["models", options @ ..] => models::run(&models::Options::parse(options)?),
        ["soak", options @ ..] => soak::run(&soak::Options::parse(options)?),
        ["docs", extra, ..] => bail!("`docs` takes `--check` alone, got `{extra}`"),
        ["layers", extra, ..] => bail!("`layers` takes no argument, got `{extra}`"),
        [task, ..] => bail!("unknown task `{task}`\n\n{}", USAGE.trim_end()),
    }
}
