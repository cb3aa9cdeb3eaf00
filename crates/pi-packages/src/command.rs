//! Other programs: started without a terminal to ask on, their last words kept for the error.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::error::PackageError;

/// A program may work this long before it is ended.
const LONGEST: Duration = Duration::from_mins(30);

/// How much of a program's last words an error repeats.
const LAST_WORDS: usize = 2000;

/// How often a program that is still being written is tried again, and after which time.
const BUSY_ATTEMPTS: usize = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// A command line.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    directory: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    hidden: &'static [&'static str],
    label: Option<String>,
    limit: Duration,
}

impl Command {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            directory: None,
            variables: Vec::new(),
            hidden: &[],
            label: None,
            limit: LONGEST,
        }
    }

    pub(crate) fn args<Argument: AsRef<OsStr>>(
        mut self,
        arguments: impl IntoIterator<Item = Argument>,
    ) -> Self {
        let arguments = arguments.into_iter();
        self.arguments
            .extend(arguments.map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    pub(crate) fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Keeps variables of ours from the program.
    pub(crate) fn hiding(mut self, names: &'static [&'static str]) -> Self {
        self.hidden = names;
        self
    }

    /// Names the command in errors, instead of its command line.
    pub(crate) fn labeled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The command line as errors show it.
    fn shown(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// Runs a command to its end and returns what it wrote; one that fails is an error.
pub(crate) async fn run(command: Command) -> Result<String, PackageError> {
    let failed = |problem: String| PackageError::Command {
        command: command.shown(),
        problem,
    };
    let mut process = tokio::process::Command::new(&command.program);
    process
        .args(&command.arguments)
        .envs(command.variables.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for name in command.hidden {
        process.env_remove(name);
    }
    if let Some(directory) = &command.directory {
        process.current_dir(directory);
    }
    let output = tokio::time::timeout(command.limit, output_of(&mut process))
        .await
        .map_err(|_elapsed| failed(format!("it took longer than {} s", command.limit.as_secs())))?
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("there is no such program".to_owned()),
            _ => failed(error.to_string()),
        })?;
    if !output.status.success() {
        let words = if output.stderr.is_empty() {
            &output.stdout
        } else {
            &output.stderr
        };
        let problem = last_words(&String::from_utf8_lossy(words));
        return Err(failed(if problem.is_empty() {
            output.status.to_string()
        } else {
            problem
        }));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program, also one that was written just now: a child that another thread starts at that moment
/// holds the file open until it is a program of its own.
async fn output_of(process: &mut tokio::process::Command) -> io::Result<Output> {
    for _ in 0..BUSY_ATTEMPTS {
        match process.output().await {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            ended => return ended,
        }
    }
    process.output().await
}

fn last_words(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(LAST_WORDS);
    text.chars().skip(skipped).collect()
}
