//! Development tasks that need more than a line of shell: `cargo xtask <task>`.

mod charts;
mod dist;
mod docs;
mod extension_packages;
mod fake_model;
#[cfg(test)]
mod file_server;
mod fleet_chaos;
mod language;
mod layers;
mod limits;
mod models;
mod release;
mod schema;
mod screenshots;
mod site;
mod soak;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask <task>

Tasks:
  charts [--check]
          Draw the tables of measurements in docs/ as pictures. With --check, only report whether they are
          up to date.
  dist [--target TARGET]
          Build target/dist/pi, the binary that people download: optimized across crates, the
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
  layers  Check which crate may depend on which, how large crates, types and structs are, and that
          every source file is compiled.
  models --from PATH [--generated-at TIME]
          Generate the model catalog of pi-providers. PATH is a directory of provider files
          (<provider>.json: API -> ID -> record) or a models.dev document. The document has no
          date, so pass one as TIME (RFC 3339).
  package [--binary BINARY] [--target TARGET] [--out DIR]
          Make the archive of a platform from BINARY (target/dist/pi), with completions and manual
          page, and a Debian package, in DIR (target/packages).
  release --releases URL [--packages DIR] [--notes FILE]
          Write the signed list of a release, install.sh and the definitions for package managers
          next to the packages in DIR. Needs PI_RELEASE_SIGNING_KEY, and its public key in
          PI_RELEASE_KEY, as the binaries.
  release-key
          Print a new signing key.
  schema [--check]
          Generate docs/schema: JSON Schemas and TypeScript types of events, entries and commands.
          With --check, only report whether they are up to date.
  screenshots [--binary BINARY] [--chromium BROWSER]
          Capture the pictures in docs/images from BINARY (target/release/pi).
  screenshots record --releases URL [--out FILE]
          Record the first minute of a new user, who installs pi from a release and starts the demo, as
          an animated picture.
  screenshots render FILE... [--size COLUMNSxROWS] [--light] [--png] [--out DIR]
          Draw screens captured with `tmux capture-pane -e`, or by the reference harness
          (screens --out), as SVG, and as PNG with rsvg-convert.
  screenshots walk [--binary BINARY] [--out DIR] [--size COLUMNSxROWS] [--style STYLE] [--only SCREEN] [--png]
          Walk from the first start to the exit of BINARY (target/release/pi) and draw 20 screens in
          80x24, 120x40 and 200x50, dark and light, and in 80x24 with 16 colors and with NO_COLOR.
  site [--out DIR] [--releases URL]
          Generate the documentation site from docs/, the README and the changelog (target/site).
          URL replaces $PI_RELEASES in the commands of the pages.
  fleet-chaos [--engine local|nats] [--tasks N] [--workers N] [--slots N] [--fleet-kills N]
              [--agent-kills N] [--server-kills N] [--seed N] [--minutes N] [--pi BINARY] [--fleet BINARY]
          Run a batch of pi fleet while its processes are killed at random, on this machine and with
          a NATS server, and compare the results with those of an undisturbed run. BINARY replaces the pi or
          pi-fleet of the debug build.
  fleet-overhead [--pi BINARY] [--fleet BINARY]
          Print the time per turn without barriers, with those of the local engine, and with those of a NATS
          server. Needs release binaries and a quiet machine.
  soak [--binary BINARY] [--turns N] [--entries N] [--reloads N] [--client-steps N]
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
        ["charts"] => charts::run(charts::ChartsMode::Write),
        ["charts", "--check"] => charts::run(charts::ChartsMode::Check),
        ["dist", options @ ..] => dist::run(&dist::DistOptions::parse(options)?),
        ["docs"] => docs::run(docs::DocsMode::Write),
        ["docs", "--check"] => docs::run(docs::DocsMode::Check),
        ["language"] => language::run(),
        ["layers"] => layers::run(),
        ["models", options @ ..] => models::run(&models::ModelsOptions::parse(options)?),
        ["package", options @ ..] => release::package(&release::PackageOptions::parse(options)?),
        ["release", options @ ..] => release::release(&release::ReleaseOptions::parse(options)?),
        ["release-key"] => release::new_key(),
        ["schema"] => schema::run(schema::SchemaMode::Write),
        ["schema", "--check"] => schema::run(schema::SchemaMode::Check),
        ["screenshots", "render", options @ ..] => {
            screenshots::render_captures(&screenshots::RenderOptions::parse(options)?)
        }
        ["screenshots", "record", options @ ..] => {
            screenshots::record(&screenshots::RecordOptions::parse(options)?)
        }
        ["screenshots", "walk", options @ ..] => {
            screenshots::walk(&screenshots::WalkOptions::parse(options)?)
        }
        ["screenshots", options @ ..] => {
            screenshots::run(&screenshots::ScreenshotOptions::parse(options)?)
        }
        ["site", options @ ..] => site::run(&site::SiteOptions::parse(options)?),
        ["fleet-chaos", options @ ..] => fleet_chaos::run(options),
        ["fleet-overhead", options @ ..] => fleet_chaos::overhead(options),
        ["soak", options @ ..] => soak::run(&soak::SoakOptions::parse(options)?),
        [task @ ("charts" | "docs" | "schema"), extra, ..] => {
            bail!("`{task}` takes only `--check`, got `{extra}`")
        }
        [task @ ("language" | "layers" | "release-key"), extra, ..] => {
            bail!("`{task}` takes no argument, got `{extra}`")
        }
        [task, ..] => bail!("unknown task `{task}`\n\n{}", USAGE.trim_end()),
    }
}
