//! Development tasks that need more than a line of shell: `cargo xtask <task>`.

mod dist;
mod docs;
mod extension_packages;
mod fake_model;
mod fleet_chaos;
mod language;
mod layers;
mod limits;
mod models;
mod schema;
mod screenshots;
mod soak;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask <task>

Tasks:
  dist    Build target/dist/pi, the binary that people download: optimized across crates, the
          functions of a start placed together, symbols in a separate file.
  docs [--check]
          Generate the tables of docs/ that come from the code: flags, settings, variables, keys,
          commands. With --check, only report whether they are up to date.
  extension-packages --reference BINARY [--ours BINARY] [--work DIR] [--only NAME]
                     [--report]
          Install third-party extension packages with npm, call their tools and commands in
          target/debug/pi and in the TypeScript pi, and write docs/extension-packages.md. With
          --report, only write the page from the results in DIR.
  language
          Check identifiers, comments, strings and pages for banned words.
  layers  Check which crate may depend on which, and how large crates, types and structs are.
  models --from PATH [--generated-at TIME]
          Generate the model catalog of pi-providers. PATH is a directory of provider files
          (<provider>.json: API -> ID -> record) or a models.dev document. The document has no
          date, so pass one as TIME (RFC 3339).
  schema [--check]
          Generate docs/schema: JSON Schemas and TypeScript types of events, entries and commands.
          With --check, only report whether they are up to date.
  screenshots [--binary BINARY] [--chromium BROWSER]
          Capture the pictures in docs/images from BINARY (target/release/pi).
  screenshots render FILE... [--size COLUMNSxROWS] [--light] [--png] [--out DIR]
          Draw screens captured with `tmux capture-pane -e`, or by the reference harness
          (screens --out), as SVG, and as PNG with rsvg-convert.
  fleet-chaos [--tasks N] [--workers N] [--fleet-kills N] [--agent-kills N] [--seed N]
          Run a batch of pi fleet while its processes are killed at random, and compare the results
          with those of an undisturbed batch.
  soak [--binary BINARY] [--turns N] [--entries N] [--reloads N]
          Run a day of use through BINARY (target/release/pi) in a few minutes and sample its
          memory, file descriptors and threads. Fails if one of them grows.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (printed, code) = match run(&arguments) {
        Ok(report) => (
            writeln!(std::io::stdout(), "{}", report.trim_end()),
            ExitCode::SUCCESS,
        ),
        Err(error) => (
            writeln!(std::io::stderr(), "error: {error:#}"),
            ExitCode::FAILURE,
        ),
    };
    if printed.is_ok() {
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
            extension_packages::run(&extension_packages::PackageCheckOptions::parse(options)?)
        }
        ["dist"] => dist::run(),
        ["docs"] => docs::run(docs::DocsMode::Write),
        ["docs", "--check"] => docs::run(docs::DocsMode::Check),
        ["language"] => language::run(),
        ["layers"] => layers::run(),
        ["models", options @ ..] => models::run(&models::ModelsOptions::parse(options)?),
        ["schema"] => schema::run(schema::SchemaMode::Write),
        ["schema", "--check"] => schema::run(schema::SchemaMode::Check),
        ["screenshots", "render", options @ ..] => {
            screenshots::render_captures(&screenshots::RenderOptions::parse(options)?)
        }
        ["screenshots", options @ ..] => {
            screenshots::run(&screenshots::ScreenshotOptions::parse(options)?)
        }
        ["fleet-chaos", options @ ..] => fleet_chaos::run(options),
        ["soak", options @ ..] => soak::run(&soak::SoakOptions::parse(options)?),
        [task @ ("docs" | "schema"), extra, ..] => {
            bail!("`{task}` takes only `--check`, got `{extra}`")
        }
        [task @ ("dist" | "language" | "layers"), extra, ..] => {
            bail!("`{task}` takes no argument, got `{extra}`")
        }
        [task, ..] => bail!("unknown task `{task}`\n\n{}", USAGE.trim_end()),
    }
}
