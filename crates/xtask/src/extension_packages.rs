//! Compares what third-party packages do in pi and in the TypeScript pi.
//!
//! Installs each package with npm, calls its tools and commands in both programs with a scripted model, and writes
//! `docs/extension-packages.md`. It needs npm and takes about half an hour. The scripts of the most used packages are
//! also tests of pi alone, which run on request (`deep_scenarios`).

mod arguments;
mod compare;
#[cfg(test)]
mod deep_scenarios;
mod fixture;
mod normalize;
mod report;
mod rpc_process;
mod scenario;
mod scripts;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use parking_lot::Mutex;

use normalize::Normalizer;
use report::PackageRow;
use scenario::{PackageRun, Program};

/// Popular packages, with the version to install.
const PACKAGES: &str = include_str!("extension_packages/packages.txt");
const PAGE: &str = "docs/extension-packages.md";
const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Packages that run at the same time.
const PARALLEL: usize = 2;

#[derive(Debug)]
pub(crate) struct PackageCheckOptions {
    ours: PathBuf,
    reference: PathBuf,
    work: PathBuf,
    only: Option<String>,
    /// Whether to write the page from the results of earlier runs.
    report: bool,
    /// Whether to compare with what earlier runs of the reference have stored.
    keep_reference: bool,
}

impl PackageCheckOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let (mut report, mut keep_reference) = (false, false);
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
                "--report" => report = true,
                "--keep-reference" => keep_reference = true,
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
            report,
            keep_reference,
        })
    }
}

/// Runs all packages. Writes the page unless `--only` selects some of them.
pub(crate) fn run(options: &PackageCheckOptions) -> Result<String> {
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
    let rows = if options.report {
        let stored = packages.iter().map(|package| {
            let (name, version) = package.rsplit_once('@').unwrap_or((package, ""));
            stored_row(&options.work, name, version)
        });
        stored.collect()
    } else {
        check_all(&Suite::new(options)?, &packages)
    };
    let page = report::page(&rows);
    if options.only.is_none() {
        File::create(PAGE)?
            .write_all(page.as_bytes())
            .with_context(|| format!("writing {PAGE}"))?;
    }
    Ok(page)
}

/// Runs the packages, some at a time; returns their rows in order.
fn check_all(suite: &Suite, packages: &[&str]) -> Vec<PackageRow> {
    let queue = Mutex::new(packages.iter().enumerate());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().next();
                    let Some((index, package)) = next else {
                        break;
                    };
                    let row = suite.check(package);
                    rows.lock().push((index, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The two programs and what they have without packages.
struct Suite {
    ours: Program,
    reference: Program,
    node: PathBuf,
    /// Tools and commands that one of the programs has without packages.
    builtin: Vec<String>,
    work: PathBuf,
    keep_reference: bool,
}

impl Suite {
    fn new(options: &PackageCheckOptions) -> Result<Self> {
        let find = |path: &Path| {
            std::fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))
        };
        let ours = Program {
            path: find(&options.ours)?,
        };
        let reference = Program {
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
        let mut builtin = scenario::builtin_names(&ours, &node, &work.join("runs/builtin-ours"))?;
        let root = work.join("runs/builtin-reference");
        builtin.extend(scenario::builtin_names(&reference, &node, &root)?);
        Ok(Self {
            ours,
            reference,
            node,
            builtin,
            work,
            keep_reference: options.keep_reference,
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
        let kept = |label: &str| {
            let stored = self
                .keep_reference
                .then(|| stored_run(&self.work, name, label));
            stored.flatten()
        };
        let reference = match kept("reference") {
            Some(stored) => stored,
            None => self.run(name, directory, &self.reference, "reference", None)?,
        };
        let ours = self.run(name, directory, &self.ours, "ours", Some(&reference))?;
        let differs =
            |it: &compare::ComparedCall| matches!(it.verdict, compare::Verdict::Differs(_));
        let again = if !compare::compare(&ours, &reference).iter().any(differs) {
            None
        } else if let Some(stored) = kept("reference-2") {
            Some(stored)
        } else {
            Some(self.run(
                name,
                directory,
                &self.reference,
                "reference-2",
                Some(&reference),
            )?)
        };
        Ok(row(name, version, &ours, &reference, again.as_ref()))
    }

    /// Runs a package in a program and keeps what was observed, for people who look into a difference.
    fn run(
        &self,
        package: &str,
        directory: &Path,
        program: &Program,
        label: &str,
        reference: Option<&PackageRun>,
    ) -> Result<PackageRun> {
        let folder = package.replace(['/', '@'], "_");
        let root = self.work.join("runs").join(&folder).join(label);
        let package = (package, directory);
        let run = scenario::run_package(
            program,
            &self.node,
            package,
            &root,
            &self.builtin,
            reference,
        )?;
        let text = serde_json::to_string_pretty(&run)?;
        let file = self
            .work
            .join("runs")
            .join(&folder)
            .join(format!("{label}.json"));
        File::create(file)?.write_all(text.as_bytes())?;
        Ok(run)
    }
}

/// Compares the runs of a package. `again` is a second run of the reference.
fn row(
    name: &str,
    version: &str,
    ours: &PackageRun,
    reference: &PackageRun,
    again: Option<&PackageRun>,
) -> PackageRow {
    if let Some(there) = &reference.load_error {
        let note = match &ours.load_error {
            Some(here) => format!("loads in neither; pi: {here}; TypeScript pi: {there}"),
            None => format!("loads only in pi; TypeScript pi: {there}"),
        };
        return PackageRow::failed(name, version, note);
    }
    let mut calls = compare::compare(ours, reference);
    let mut note = None;
    if let Some(error) = &ours.load_error {
        note = Some(format!("does not load: {error}"));
        let verdict = compare::Verdict::Differs(vec!["load".into()]);
        calls = vec![compare::ComparedCall {
            name: "load".into(),
            verdict,
        }];
    } else if let Some(again) = again {
        compare::mark_varying(&mut calls, reference, again);
    }
    let mut row = PackageRow {
        package: name.to_owned(),
        version: version.to_owned(),
        tools: reference.tools,
        commands: reference.commands,
        calls,
        note,
    };
    row.mark_not_compared();
    row
}

/// Compares what earlier runs of a package have stored.
fn stored_row(work: &Path, name: &str, version: &str) -> PackageRow {
    let load = |label: &str| stored_run(work, name, label);
    match (load("ours"), load("reference")) {
        (Some(ours), Some(reference)) => row(
            name,
            version,
            &ours,
            &reference,
            load("reference-2").as_ref(),
        ),
        _ => PackageRow::failed(name, version, "not run".into()),
    }
}

/// Returns what an earlier run of a package has stored.
fn stored_run(work: &Path, name: &str, label: &str) -> Option<PackageRun> {
    let folder = work.join("runs").join(name.replace(['/', '@'], "_"));
    let text = std::fs::read(folder.join(format!("{label}.json"))).ok()?;
    let mut run: PackageRun = serde_json::from_slice(&text).ok()?;
    let normalizer = Normalizer::for_stored();
    for (_, observed) in &mut run.calls {
        *observed = normalizer.value(observed);
    }
    Some(run)
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
    let errors = home.join("npm-errors");
    let mut npm = Command::new("npm")
        .args([
            "install",
            "--ignore-scripts",
            "--legacy-peer-deps",
            "--no-audit",
            "--no-fund",
            "--fetch-retries=1",
        ])
        .args(["--loglevel=error", &format!("{package}@{version}")])
        .current_dir(&home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?)
        .spawn()
        .context("cannot run npm")?;
    let limit = Instant::now() + INSTALL_TIMEOUT;
    let status = loop {
        if let Some(status) = npm.try_wait()? {
            break status;
        }
        if Instant::now() > limit {
            npm.kill()?;
            npm.wait()?;
            bail!("not installed: npm does not finish");
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    if !status.success() {
        let stderr = std::fs::read_to_string(&errors).unwrap_or_default();
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
