//! Checks whether third-party extension packages load and register the same things as in the TypeScript pi.
//!
//! Installs each package with npm into a temporary directory, starts both programs with it and with a probe that
//! records registrations, and writes `docs/extensions-compatibility.md`.

mod report;
mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use report::PackageRow;
use run::{CheckedProgram, LoadOutcome};

/// Popular packages, and some that use much of the Node API.
const PACKAGES: &str = include_str!("extension_packages/packages.txt");

#[derive(Debug)]
pub(crate) struct PackageCheckOptions {
    ours: PathBuf,
    reference: Option<PathBuf>,
    work: PathBuf,
    only: Option<String>,
}

impl PackageCheckOptions {
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
                other => bail!("`extension-packages` has no option `{other}`"),
            }
        }
        Ok(options)
    }
}

/// Installs and loads all packages. Writes the page unless `--only` selects some of them.
pub(crate) fn run(options: &PackageCheckOptions) -> Result<String> {
    let ours = std::fs::canonicalize(&options.ours)
        .with_context(|| format!("cannot find {}", options.ours.display()))?;
    let ours = CheckedProgram::new("ours", &ours, &options.work)?;
    let reference = match &options.reference {
        Some(path) => Some(CheckedProgram::new("reference", path, &options.work)?),
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
        let directory = match &installed {
            Ok(directory) => directory,
            Err(error) => {
                rows.push(PackageRow::not_installed(package, error));
                continue;
            }
        };
        let (mut in_ours, mut in_reference) = (ours.load_package(directory)?, None);
        if let Some(program) = &reference {
            let mut outcome = program.load_package(directory)?;
            if let (LoadOutcome::Loaded(ours_found), LoadOutcome::Loaded(found)) =
                (&mut in_ours, &mut outcome)
            {
                // Our --help loads no extensions, so pass the flags instead.
                found.flags = program.listed_flags(directory)?;
                ours_found.flags = ours.accepted_flags(directory, &found.flags)?;
            }
            in_reference = Some(outcome);
        }
        rows.push(PackageRow::loaded(
            package,
            directory,
            in_ours,
            in_reference,
        ));
    }
    let table = report::table(&rows);
    if options.only.is_none() {
        let target = "docs/extensions-compatibility.md";
        std::io::Write::write_all(&mut std::fs::File::create(target)?, table.as_bytes())
            .with_context(|| format!("writing {target}"))?;
    }
    Ok(table)
}

/// Installs a package and its dependencies without running scripts; returns its directory.
fn install(work: &Path, package: &str) -> Result<PathBuf> {
    let home = work.join("packages").join(package.replace(['/', '@'], "_"));
    let directory = home.join("node_modules").join(package);
    if directory.join("package.json").exists() {
        return Ok(directory);
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
        .context("cannot run npm")?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let lines = stderr
            .lines()
            .map(|line| line.trim_start_matches("npm error "));
        // Omit registry URLs.
        let lines = lines.filter(|line| !line.contains("://"));
        let reason = lines.take(2).collect::<Vec<_>>().join(": ");
        bail!("{reason}");
    }
    Ok(directory)
}
