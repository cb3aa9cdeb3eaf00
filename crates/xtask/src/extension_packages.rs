//! Compares what third-party packages do in pi and in the TypeScript pi.
//!
//! Installs each package with npm, calls its tools and commands in both programs with a scripted model, and writes
//! `docs/extension-packages.md`. Never part of the tests: it needs npm and takes about half an hour.

mod arguments;
mod compare;
mod fixture;
mod normalize;
mod report;
mod rpc_process;
mod scenario;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};

use report::PackageRow;
use scenario::{PackageRun, Program};

/// Popular packages, with the version to install.
const PACKAGES: &str = include_str!("extension_packages/packages.txt");
const PAGE: &str = "docs/extension-packages.md";
/// Packages that run at the same time.
const PARALLEL: usize = 2;

#[derive(Debug)]
pub(crate) struct PackageCheckOptions {
    ours: PathBuf,
    reference: PathBuf,
    work: PathBuf,
    only: Option<String>,
}

impl PackageCheckOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let (mut ours, mut reference, mut only) = (PathBuf::from("target/debug/pi"), None, None);
        let mut work = std::env::temp_dir().join("pi-extension-packages");
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{argument} needs a value"))
            };
            match *argument {
                "--ours" => ours = value()?.into(),
                "--reference" => reference = Some(value()?.into()),
                "--work" => work = value()?.into(),
                "--only" => only = Some((*value()?).to_owned()),
                other => bail!("`extension-packages` has no option `{other}`"),
            }
        }
        let reference = reference.context(
            "pass the TypeScript pi as `--reference BINARY`; npm installs it: @earendil-works/pi-coding-agent",
        )?;
        Ok(Self {
            ours,
            reference,
            work,
            only,
        })
    }
}

/// Runs all packages. Writes the page unless `--only` selects some of them.
pub(crate) fn run(options: &PackageCheckOptions) -> Result<String> {
    let suite = Suite::new(options)?;
    let is_selected = |package: &&str| {
        options
            .only
            .as_deref()
            .is_none_or(|only| package.contains(only))
    };
    let packages: Vec<&str> = PACKAGES
        .lines()
        .filter(|it| !it.is_empty())
        .filter(is_selected)
        .collect();
    let queue = Mutex::new(packages.iter().enumerate());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((index, package)) = next else {
                        break;
                    };
                    let row = suite.check(package);
                    rows.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(index, _)| *index);
    let rows: Vec<PackageRow> = rows.into_iter().map(|(_, row)| row).collect();
    let page = report::page(&rows);
    if options.only.is_none() {
        File::create(PAGE)?
            .write_all(page.as_bytes())
            .with_context(|| format!("writing {PAGE}"))?;
    }
    Ok(page)
}

/// The two programs and what they have without packages.
struct Suite {
    ours: Program,
    reference: Program,
    node: PathBuf,
    builtin_ours: Vec<String>,
    builtin_reference: Vec<String>,
    work: PathBuf,
}

impl Suite {
    fn new(options: &PackageCheckOptions) -> Result<Self> {
        let find = |path: &Path| {
            std::fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))
        };
        let ours = Program {
            name: "ours",
            path: find(&options.ours)?,
        };
        let reference = Program {
            name: "reference",
            path: find(&options.reference)?,
        };
        // The Node that the reference was installed with, if any.
        let installed = options
            .reference
            .parent()
            .map(|it| it.join("node"))
            .filter(|it| it.exists());
        let node = installed.map_or_else(|| search_path("node"), Ok)?;
        std::fs::create_dir_all(&options.work)?;
        let work = find(&options.work)?;
        let builtin_ours = scenario::builtin_names(&ours, &node, &work.join("runs/builtin-ours"))?;
        let builtin_reference =
            scenario::builtin_names(&reference, &node, &work.join("runs/builtin-reference"))?;
        Ok(Self {
            ours,
            reference,
            node,
            builtin_ours,
            builtin_reference,
            work,
        })
    }

    /// Installs and compares a package.
    fn check(&self, package: &str) -> PackageRow {
        let (name, version) = package.rsplit_once('@').unwrap_or((package, ""));
        let row = install(&self.work, name, version)
            .and_then(|directory| self.compare(name, version, &directory));
        row.unwrap_or_else(|error| PackageRow::failed(name, version, format!("{error:#}")))
    }

    fn compare(&self, name: &str, version: &str, directory: &Path) -> Result<PackageRow> {
        let ours = self.run(name, directory, &self.ours, "ours")?;
        let reference = self.run(name, directory, &self.reference, "reference")?;
        if let Some(there) = &reference.load_error {
            let note = match &ours.load_error {
                Some(here) => format!("loads in neither; pi: {here}; TypeScript pi: {there}"),
                None => format!("loads only in pi; TypeScript pi: {there}"),
            };
            return Ok(PackageRow::failed(name, version, note));
        }
        let mut calls = compare::compare(&ours, &reference);
        let mut note = None;
        if let Some(error) = &ours.load_error {
            note = Some(format!("does not load: {error}"));
            let verdict = compare::Verdict::Differs(vec!["load".into()]);
            calls = vec![compare::ComparedCall {
                name: "load".into(),
                verdict,
            }];
        } else if calls.iter().any(|it| it.verdict != compare::Verdict::Same) {
            let again = self.run(name, directory, &self.reference, "reference-2")?;
            compare::mark_varying(&mut calls, &reference, &again);
        }
        let (tools, commands) = (reference.tools, reference.commands);
        let (package, version) = (name.to_owned(), version.to_owned());
        Ok(PackageRow {
            package,
            version,
            tools,
            commands,
            calls,
            note,
        })
    }

    /// Runs a package in a program and keeps what was observed, for people who look into a difference.
    fn run(
        &self,
        package: &str,
        directory: &Path,
        program: &Program,
        label: &str,
    ) -> Result<PackageRun> {
        let folder = package.replace(['/', '@'], "_");
        let root = self.work.join("runs").join(&folder).join(label);
        let builtin = if program.name == "ours" {
            &self.builtin_ours
        } else {
            &self.builtin_reference
        };
        let run = scenario::run_package(program, &self.node, directory, &root, builtin)?;
        let observed: serde_json::Map<_, _> = run.calls.iter().cloned().collect();
        let text = serde_json::to_string_pretty(&observed)?;
        let file = self
            .work
            .join("runs")
            .join(&folder)
            .join(format!("{label}.json"));
        File::create(file)?.write_all(text.as_bytes())?;
        Ok(run)
    }
}

/// Returns the program of this name on `PATH`.
fn search_path(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|it| it.join(name))
        .find(|it| it.exists());
    found.with_context(|| format!("cannot find {name} on PATH"))
}

/// Installs a package and its dependencies without running scripts; returns its directory.
fn install(work: &Path, package: &str, version: &str) -> Result<PathBuf> {
    let folder = format!("{}-{version}", package.replace(['/', '@'], "_"));
    let home = work.join("packages").join(folder);
    let directory = home.join("node_modules").join(package);
    if home.join("installed").exists() {
        return Ok(directory);
    }
    std::fs::create_dir_all(&home)?;
    File::create(home.join("package.json"))?.write_all(b"{\"private\":true}")?;
    let output = Command::new("npm")
        .args([
            "install",
            "--ignore-scripts",
            "--legacy-peer-deps",
            "--no-audit",
            "--no-fund",
        ])
        .args(["--loglevel=error", &format!("{package}@{version}")])
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
        bail!(
            "not installed: {}",
            lines.take(2).collect::<Vec<_>>().join(": ")
        );
    }
    File::create(home.join("installed"))?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_a_version() {
        for line in PACKAGES.lines() {
            let version = line
                .rsplit_once('@')
                .map(|(name, version)| (!name.is_empty(), version));
            assert!(
                version.is_some_and(
                    |(named, it)| named && it.starts_with(|c: char| c.is_ascii_digit())
                ),
                "{line}"
            );
        }
    }
}
