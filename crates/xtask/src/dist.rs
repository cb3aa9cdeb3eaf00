//! `cargo xtask dist`: builds the binary that people download.
//!
//! The `dist` profile optimizes across all crates. On top of it, functions with equal code share it, the functions a start
//! runs are placed next to each other, in an order recorded from this build, paths of dependencies do not name
//! directories of this machine, and symbols and line tables move to a separate file.

mod function_order;
mod starts;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::Message;

use function_order::FunctionOrder;
use starts::StartProfiler;

/// Maximum size of the binary in bytes; see `docs/performance.md`.
const MAX_SIZE: u64 = 33_000_000;

/// In the `.comment` section of programs that lld has linked. Other linkers take no list of functions and fold none.
const LLD_COMMENT: &[u8] = b"Linker: LLD";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DistOptions {
    /// The compiler's name of a platform that this machine runs as well, such as `x86_64-unknown-linux-musl`.
    target: Option<String>,
}

impl DistOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        match arguments {
            [] => Ok(Self::default()),
            ["--target", target] => Ok(Self {
                target: Some((*target).to_owned()),
            }),
            _ => bail!("`dist` takes only `--target TARGET`"),
        }
    }
}

pub(crate) fn run(options: &DistOptions) -> Result<String> {
    let mut report = Vec::new();
    let flags = flags_for_all_crates()?;
    let target = options.target.as_deref();
    let mut binary = build(target, &flags, &[])?;
    match missing_tool(&binary)? {
        Some(reason) => report.push(format!("skipped the function order: {reason}")),
        None => {
            let (order, count) = record_order(&binary)?;
            let file = format!("-Clink-arg=-Wl,--symbol-ordering-file={}", order.display());
            // Functions that are not in the link under this name are listed as well.
            let arguments = [
                file.as_str(),
                "-Clink-arg=-Wl,--no-warn-symbol-ordering",
                "-Clink-arg=-Wl,--icf=all",
            ];
            binary = build(target, &flags, &arguments)?;
            report.push(format!("placed the {count} functions of a start together"));
        }
    }
    if cfg!(target_os = "linux") {
        let symbols = separate_symbols(&binary)?;
        report.push(format!("symbols: {}", symbols.display()));
    }
    let size = fs::metadata(&binary)?.len();
    report.push(format!("{}: {size} bytes", binary.display()));
    ensure!(
        size <= MAX_SIZE,
        "{}\nthe limit is {MAX_SIZE} bytes (see docs/performance.md)",
        report.join("\n")
    );
    Ok(report.join("\n"))
}

/// Returns compiler flags for all crates: those of the environment, and some that shorten the paths of dependencies, of
/// which panic messages contain more than a thousand.
fn flags_for_all_crates() -> Result<String> {
    // Unpacks the dependencies.
    let status = Command::new(cargo()).args(["fetch", "--locked"]).status()?;
    ensure!(status.success(), "cannot fetch the dependencies");
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registries = home.map(|home| home.join("registry/src"));
    for registry in registries.iter().flat_map(fs::read_dir).flatten() {
        flags.push(format!(
            "--remap-path-prefix={}=",
            registry?.path().display()
        ));
    }
    Ok(flags.join("\u{1f}"))
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds the binary with additional compiler arguments, and returns its path.
///
/// Arguments given this way do not change the names of functions, so that an order recorded from one build applies to
/// the next.
fn build(target: Option<&str>, flags: &str, arguments: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new(cargo());
    command
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .args(["rustc", "--profile", "dist", "--locked"])
        .args(["--package", "pi", "--bin", "pi"])
        .args(target.map(|target| format!("--target={target}")))
        .arg("--message-format=json-render-diagnostics")
        .arg("--")
        .args(arguments)
        .stdout(Stdio::piped());
    if cfg!(target_os = "macos") {
        // The compiler writes `pi.dSYM` before it strips the binary.
        command
            .env("CARGO_PROFILE_DIST_SPLIT_DEBUGINFO", "packed")
            .env("CARGO_PROFILE_DIST_STRIP", "symbols");
    }
    let mut child = command.spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("stdout is not a pipe")?;
    let mut binary = None;
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(executable) = artifact.executable
        {
            binary = Some(executable.into_std_path_buf());
        }
    }
    ensure!(child.wait()?.success(), "the build failed");
    binary.context("cargo reported no binary")
}

/// Returns why the functions of a start cannot be placed together.
fn missing_tool(binary: &Path) -> Result<Option<&'static str>> {
    let program = fs::read(binary)?;
    if memchr::memmem::find(&program, LLD_COMMENT).is_none() {
        return Ok(Some("the binary was not linked by lld"));
    }
    let valgrind = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !valgrind.is_ok_and(|status| status.success()) {
        return Ok(Some("valgrind is not installed"));
    }
    Ok(None)
}

/// Writes the functions that starts of `binary` run to a file next to it, and returns the file and their number.
fn record_order(binary: &Path) -> Result<(PathBuf, usize)> {
    let mut order = FunctionOrder::default();
    for profile in StartProfiler::new(binary)?.record()? {
        order.add(&profile);
    }
    let names = order.into_names();
    if names.is_empty() {
        bail!("the profiles contain no function of `pi`");
    }
    let path = binary.with_file_name("start.order");
    File::create(&path)
        .and_then(|mut file| writeln!(file, "{}", names.join("\n")))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok((path, names.len()))
}

/// Moves symbols and line tables of `binary` to `pi.debug` next to it, where debuggers and profilers find them.
fn separate_symbols(binary: &Path) -> Result<PathBuf> {
    let symbols = binary.with_extension("debug");
    let stripped = binary.with_extension("stripped");
    objcopy(&["--only-keep-debug"], binary, &symbols)?;
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    objcopy(&["--strip-all", &link], binary, &stripped)?;
    // Replaces the directory entry: the file itself is also cargo's copy, which the next build compares.
    fs::rename(&stripped, binary)?;
    Ok(symbols)
}

fn objcopy(options: &[&str], from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("objcopy")
        .args(options)
        .args([from, to])
        .status()
        .context("cannot run objcopy\nhint: install binutils")?;
    ensure!(status.success(), "objcopy {options:?} failed");
    Ok(())
}
