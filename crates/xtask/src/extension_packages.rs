//! Which extension packages of others load, and whether they register what they register in the TypeScript pi.
//!
//! Installs each package with npm into a temporary folder, starts both programs with it and with a probe that writes
//! down what is registered, and writes the table of `docs/extensions-compatibility.md`.

mod report;
mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use report::Row;
use run::{Outcome, Program};

/// The packages: those named in the wild, and some that need much of Node.
const PACKAGES: &str = include_str!("extension_packages/packages.txt");

/// What the task is told.
#[derive(Debug)]
pub(crate) struct Options {
    ours: PathBuf,
    reference: Option<PathBuf>,
    work: PathBuf,
    only: Option<String>,
}

impl Options {
    /// Reads the arguments of the task.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            ours: "target/debug/pi".into(),
            reference: None,
            work: std::env::temp_dir().join("pi-extension-packages"),
            only: None,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{argument} needs a value"))
            };
            match *argument {
                "--ours" => options.ours = value()?.into(),
                "--reference" => options.reference = Some(value()?.into()),
                "--work" => options.work = value()?.into(),
                "--only" => options.only = Some((*value()?).to_owned()),
                other => bail!("`extension-packages` does not know `{other}`"),
            }
        }
        Ok(options)
    }
}

/// Installs and tries all packages; writes the table unless only some were asked for.
pub(crate) fn run(options: &Options) -> Result<String> {
    let ours = std::fs::canonicalize(&options.ours)
        .with_context(|| format!("no program at {}", options.ours.display()))?;
    let ours = Program::new("ours", &ours, &options.work)?;
    let reference = match &options.reference {
        Some(path) => Some(Program::new("reference", path, &options.work)?),
        None => None,
    };
    let mut rows = Vec::new();
    for package in PACKAGES.lines().filter(|line| !line.is_empty()) {
        if options
            .only
            .as_deref()
            .is_some_and(|only| !package.contains(only))
        {
            continue;
        }
        let installed = install(&options.work, package);
        let folder = match &installed {
            Ok(folder) => folder,
            Err(error) => {
                rows.push(Row::not_installed(package, error));
                continue;
            }
        };
        let (mut in_ours, mut in_reference) = (ours.try_package(folder)?, None);
        if let Some(program) = &reference {
            let mut outcome = program.try_package(folder)?;
            if let (Outcome::Loaded(ours_found), Outcome::Loaded(found)) =
                (&mut in_ours, &mut outcome)
            {
                // Our help is quick and loads no extension, so the flags are tried instead.
                found.flags = program.listed_flags(folder)?;
                ours_found.flags = ours.taken_flags(folder, &found.flags)?;
            }
            in_reference = Some(outcome);
        }
        rows.push(Row::tried(package, folder, in_ours, in_reference));
    }
    let table = report::table(&rows);
    if options.only.is_none() {
        let target = "docs/extensions-compatibility.md";
        std::io::Write::write_all(&mut std::fs::File::create(target)?, table.as_bytes())
            .with_context(|| format!("writing {target}"))?;
    }
    Ok(table)
}

/// Installs a package with its dependencies and without running anything of it; returns its folder.
fn install(work: &Path, package: &str) -> Result<PathBuf> {
    let home = work.join("packages").join(package.replace(['/', '@'], "_"));
    let folder = home.join("node_modules").join(package);
    if folder.join("package.json").exists() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&home)?;
    std::io::Write::write_all(
        &mut std::fs::File::create(home.join("package.json"))?,
        b"{\"private\":true}",
    )?;
    let output = Command::new("npm")
        .args([
            "install",
            "--ignore-scripts",
            "--legacy-peer-deps",
            "--no-audit",
            "--no-fund",
        ])
        .args(["--loglevel=error", package])
        .current_dir(&home)
        .stdin(Stdio::null())
        .output()
        .context("npm cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines = said
            .lines()
            .map(|line| line.trim_start_matches("npm error "));
        // Addresses of registries are nobody's concern.
        let lines = lines.filter(|line| !line.contains("://"));
        let why = lines.take(2).collect::<Vec<_>>().join(": ");
        bail!("{why}");
    }
    Ok(folder)
}
