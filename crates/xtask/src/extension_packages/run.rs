//! One program with one package: does it load, and what is registered then that was not before.

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
/// More than any start takes.
const PATIENCE: Duration = Duration::from_secs(90);
/// More than any end takes, unless an extension keeps the program.
const TIME_TO_END: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What is registered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Registered {
    pub(super) tools: BTreeSet<String>,
    pub(super) commands: BTreeSet<String>,
    pub(super) providers: BTreeSet<String>,
    #[serde(skip)]
    pub(super) flags: BTreeSet<String>,
}

/// What came of a start.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Loaded(Registered),
    Failed(String),
}

/// A program that is tried.
pub(super) struct Program {
    path: PathBuf,
    home: PathBuf,
    /// What is there without any package.
    bare: Registered,
}

impl Program {
    /// Finds out what the program registers by itself.
    pub(super) fn new(name: &str, path: &Path, work: &Path) -> Result<Self> {
        let home = work.join(name);
        std::fs::create_dir_all(home.join("project"))?;
        File::create(home.join("probe.js"))?.write_all(PROBE.as_bytes())?;
        let mut program = Self {
            path: path.to_owned(),
            home,
            bare: Registered::default(),
        };
        match program.start(None)? {
            Outcome::Loaded(bare) => program.bare = bare,
            Outcome::Failed(why) => {
                anyhow::bail!("{} does not start: {why}", program.path.display())
            }
        }
        Ok(program)
    }

    /// Starts the program with a package.
    pub(super) fn try_package(&self, folder: &Path) -> Result<Outcome> {
        let outcome = self.start(Some(folder))?;
        let Outcome::Loaded(mut found) = outcome else {
            return Ok(outcome);
        };
        for (found, bare) in [
            (&mut found.tools, &self.bare.tools),
            (&mut found.commands, &self.bare.commands),
            (&mut found.providers, &self.bare.providers),
        ] {
            found.retain(|name| !bare.contains(name));
        }
        Ok(Outcome::Loaded(found))
    }

    fn start(&self, package: Option<&Path>) -> Result<Outcome> {
        // A fresh agent folder each time: what a package stores is not the next one's concern.
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
        // A program that ends with an error has refused an extension; one that is kept from ending by what an
        // extension still does has not.
        if !result.exists() || code.is_some_and(|code| code != 0) {
            let first = errors.lines().find(|line| !line.trim().is_empty());
            return Ok(Outcome::Failed(without_folders(
                first.unwrap_or("nothing was said"),
            )));
        }
        let text = std::fs::read_to_string(&result)?;
        Ok(Outcome::Loaded(serde_json::from_str(&text)?))
    }

    /// Returns the flags the program's help lists with a package.
    pub(super) fn listed_flags(&self, package: &Path) -> Result<BTreeSet<String>> {
        let help = |package| -> Result<BTreeSet<String>> {
            let mut command = self.command(package);
            command.arg("--help").env("PROBE_RESULT", "/dev/null");
            let (_, help, _) = self.run_until(command, &self.home.join("never"))?;
            Ok(flags(&help))
        };
        let bare = help(None)?;
        Ok(help(Some(package))?.difference(&bare).cloned().collect())
    }

    /// Returns those of the flags the program takes with a package: it names the others when it is given all.
    pub(super) fn taken_flags(
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
        let taken = flags.iter().filter(|name| !is_unknown(name));
        Ok(taken.cloned().collect())
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

    /// Returns where programs are looked for: a Node that stands beside the program is the one it was installed with.
    fn search_path(&self) -> OsString {
        let mut path = OsString::new();
        if let Some(folder) = self.path.parent() {
            path.push(folder);
            path.push(":");
        }
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// Runs a command until it ends by itself, or until the file appears; then its input is closed.
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
            .with_context(|| format!("{} cannot be run", self.path.display()))?;
        let mut input = child.stdin.take();
        let mut limit = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = child.try_wait()? {
                break status.code();
            }
            if input.is_some() && file.exists() {
                drop(input.take());
                limit = limit.min(Instant::now() + TIME_TO_END);
            }
            if Instant::now() > limit {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(LOOK_AGAIN);
        };
        let read = |path: &Path| -> Result<String> {
            Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
        };
        Ok((code, read(&output)?, read(&errors)?))
    }
}

/// Leaves out where packages were installed, which is nobody's concern.
fn without_folders(text: &str) -> String {
    let words = text
        .split(' ')
        .map(|word| match word.rsplit_once("/node_modules/") {
            Some((before, inside)) if before.starts_with('"') => format!("\"{inside}"),
            Some((_, inside)) => inside.to_owned(),
            None => word.to_owned(),
        });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the flags a help lists: lines that begin with one.
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
    fn files_are_named_from_their_package_on() {
        let said = "error: /x/node_modules/a/node_modules/@b/c/index.ts: it fails";
        assert_eq!(without_folders(said), "error: @b/c/index.ts: it fails");
        let quoted = r#"error: "/x/node_modules/a/index.ts": it fails"#;
        assert_eq!(without_folders(quoted), r#"error: "a/index.ts": it fails"#);
    }

    #[test]
    fn flags_are_the_words_at_the_beginning_of_lines() {
        let help = "Usage: pi --x\n\n  -p, --print   Prints\n      --plan[=on]  Plans --first\n";
        let names: Vec<String> = flags(help).into_iter().collect();
        assert_eq!(names, ["first", "plan", "print"]);
    }
}
