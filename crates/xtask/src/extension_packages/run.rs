//! Starts a program with a package and records what the package registers.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Deserialize;

const PROBE: &str = include_str!("probe.js");
/// Longer than any start takes.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Longer than any exit takes, unless an extension keeps the program running.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Registrations {
    pub(super) tools: BTreeSet<String>,
    pub(super) commands: BTreeSet<String>,
    pub(super) providers: BTreeSet<String>,
    #[serde(skip)]
    pub(super) flags: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub(super) enum LoadOutcome {
    Loaded(Registrations),
    Failed(String),
}

/// The program that loads the packages.
pub(super) struct CheckedProgram {
    path: PathBuf,
    home: PathBuf,
    /// Registrations without any package.
    baseline: Registrations,
}

impl CheckedProgram {
    /// Starts the program without a package to record its own registrations.
    pub(super) fn new(name: &str, path: &Path, work: &Path) -> Result<Self> {
        let home = work.join(name);
        std::fs::create_dir_all(home.join("project"))?;
        File::create(home.join("probe.js"))?.write_all(PROBE.as_bytes())?;
        let mut program = Self {
            path: path.to_owned(),
            home,
            baseline: Registrations::default(),
        };
        match program.start(None)? {
            LoadOutcome::Loaded(baseline) => program.baseline = baseline,
            LoadOutcome::Failed(reason) => {
                anyhow::bail!("{} does not start: {reason}", program.path.display())
            }
        }
        Ok(program)
    }

    /// Starts the program with a package.
    pub(super) fn load_package(&self, directory: &Path) -> Result<LoadOutcome> {
        let outcome = self.start(Some(directory))?;
        let LoadOutcome::Loaded(mut found) = outcome else {
            return Ok(outcome);
        };
        for (found, baseline) in [
            (&mut found.tools, &self.baseline.tools),
            (&mut found.commands, &self.baseline.commands),
            (&mut found.providers, &self.baseline.providers),
        ] {
            found.retain(|name| !baseline.contains(name));
        }
        Ok(LoadOutcome::Loaded(found))
    }

    fn start(&self, package: Option<&Path>) -> Result<LoadOutcome> {
        // A fresh agent directory each time, so that packages do not see each other's files.
        let agent = self.home.join("agent");
        if agent.exists() {
            std::fs::remove_dir_all(&agent)?;
        }
        std::fs::create_dir_all(&agent)?;
        let result = self.home.join("result.json");
        if result.exists() {
            std::fs::remove_file(&result)?;
        }
        let mut rpc = self.command(package);
        rpc.args(["--mode", "rpc"]).env("PROBE_RESULT", &result);
        let (code, _, errors) = self.run_until(rpc, &result)?;
        // An exit code other than 0 means that the extension was rejected; a program that an extension keeps running
        // (no exit code) loaded it.
        if !result.exists() || code.is_some_and(|code| code != 0) {
            let first = errors.lines().find(|line| !line.trim().is_empty());
            return Ok(LoadOutcome::Failed(without_install_path(
                first.unwrap_or("no error message"),
            )));
        }
        let text = std::fs::read_to_string(&result)?;
        Ok(LoadOutcome::Loaded(serde_json::from_str(&text)?))
    }

    /// Returns the flags that `--help` lists only with the package.
    pub(super) fn listed_flags(&self, package: &Path) -> Result<BTreeSet<String>> {
        let help = |package| -> Result<BTreeSet<String>> {
            let mut command = self.command(package);
            command.arg("--help").env("PROBE_RESULT", "/dev/null");
            let (_, help, _) = self.run_until(command, &self.home.join("never"))?;
            Ok(flags(&help))
        };
        let baseline = help(None)?;
        Ok(help(Some(package))?
            .difference(&baseline)
            .cloned()
            .collect())
    }

    /// Returns the flags that the program accepts with a package: passed all of them, it reports the unknown ones.
    pub(super) fn accepted_flags(
        &self,
        package: &Path,
        flags: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>> {
        if flags.is_empty() {
            return Ok(BTreeSet::new());
        }
        let result = self.home.join("flags.json");
        if result.exists() {
            std::fs::remove_file(&result)?;
        }
        let mut command = self.command(Some(package));
        command.args(["--mode", "rpc"]).env("PROBE_RESULT", &result);
        command.args(flags.iter().map(|name| format!("--{name}")));
        let (_, _, errors) = self.run_until(command, &result)?;
        let is_unknown = |name: &String| errors.contains(&format!("unknown option --{name}:"));
        let accepted = flags.iter().filter(|name| !is_unknown(name));
        Ok(accepted.cloned().collect())
    }

    fn command(&self, package: Option<&Path>) -> Command {
        let mut command = Command::new(&self.path);
        command
            .arg("-e")
            .arg(self.home.join("probe.js"))
            .current_dir(self.home.join("project"))
            .env_clear()
            .env("PATH", self.search_path())
            .env("HOME", &self.home)
            .env("PI_CODING_AGENT_DIR", self.home.join("agent"))
            .env("PI_OFFLINE", "1");
        if let Some(package) = package {
            command.arg("-e").arg(package);
        }
        command
    }

    /// Returns `PATH` with the directory of the program first: a Node in it is the one it was installed with.
    fn search_path(&self) -> OsString {
        let mut path = OsString::new();
        if let Some(directory) = self.path.parent() {
            path.push(directory);
            path.push(":");
        }
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// Runs a command until it exits. Closes its stdin when `file` appears.
    fn run_until(
        &self,
        mut command: Command,
        file: &Path,
    ) -> Result<(Option<i32>, String, String)> {
        let (output, errors) = (self.home.join("output"), self.home.join("errors"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(File::create(&output)?)
            .stderr(File::create(&errors)?)
            .spawn()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        let mut input = child.stdin.take();
        let mut limit = Instant::now() + START_TIMEOUT;
        let code = loop {
            if let Some(status) = child.try_wait()? {
                break status.code();
            }
            if input.is_some() && file.exists() {
                drop(input.take());
                limit = limit.min(Instant::now() + EXIT_TIMEOUT);
            }
            if Instant::now() > limit {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let read = |path: &Path| -> Result<String> {
            Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
        };
        Ok((code, read(&output)?, read(&errors)?))
    }
}

/// Shortens paths to the part inside the package.
fn without_install_path(text: &str) -> String {
    let words = text
        .split(' ')
        .map(|word| match word.rsplit_once("/node_modules/") {
            Some((before, inside)) if before.starts_with('"') => format!("\"{inside}"),
            Some((_, inside)) => inside.to_owned(),
            None => word.to_owned(),
        });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the flags in the lines of a help text that start with one.
fn flags(help: &str) -> BTreeSet<String> {
    help.lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('-'))
        .flat_map(|line| line.split([',', ' ']).map(str::trim))
        .filter_map(|word| word.strip_prefix("--"))
        .map(|word| {
            word.chars()
                .take_while(|it| it.is_alphanumeric() || *it == '-')
                .collect()
        })
        .filter(|name: &String| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_at_the_package() {
        let message = "error: /x/node_modules/a/node_modules/@b/c/index.ts: failure";
        assert_eq!(
            without_install_path(message),
            "error: @b/c/index.ts: failure"
        );
        let quoted = r#"error: "/x/node_modules/a/index.ts": failure"#;
        assert_eq!(
            without_install_path(quoted),
            r#"error: "a/index.ts": failure"#
        );
    }

    #[test]
    fn flags_are_taken_from_lines_that_start_with_one() {
        let help = "Usage: pi --x\n\n  -p, --print   Prints\n      --plan[=on]  Plans --first\n";
        let names: Vec<String> = flags(help).into_iter().collect();
        assert_eq!(names, ["first", "plan", "print"]);
    }
}
