//! Runs external programs non-interactively; errors include the end of their output.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::error::PackageError;

/// Default timeout of a command.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// Maximum number of characters of output included in an error.
const STDERR_TAIL: usize = 2000;

/// Retries and delay for an executable that is still open for writing (`ETXTBSY`).
const BUSY_ATTEMPTS: usize = 50;
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub(crate) struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    directory: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    removed_variables: &'static [&'static str],
    label: Option<String>,
    timeout: Duration,
}

impl Command {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            directory: None,
            variables: Vec::new(),
            removed_variables: &[],
            label: None,
            timeout: DEFAULT_TIMEOUT,
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

    /// Removes environment variables.
    pub(crate) fn without_variables(mut self, names: &'static [&'static str]) -> Self {
        self.removed_variables = names;
        self
    }

    /// Sets the name shown in errors instead of the command line.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The command as shown in errors.
    fn display(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// Runs a command to completion and returns its standard output.
pub(crate) async fn run(command: Command) -> Result<String, PackageError> {
    let failed = |problem: String| PackageError::Command {
        command: command.display(),
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
    for name in command.removed_variables {
        process.env_remove(name);
    }
    if let Some(directory) = &command.directory {
        process.current_dir(directory);
    }
    let output = tokio::time::timeout(command.timeout, output_of(&mut process))
        .await
        .map_err(|_elapsed| failed(format!("timed out after {} s", command.timeout.as_secs())))?
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("command not found".to_owned()),
            _ => failed(error.to_string()),
        })?;
    if !output.status.success() {
        let output_bytes = if output.stderr.is_empty() {
            &output.stdout
        } else {
            &output.stderr
        };
        let problem = output_tail(&String::from_utf8_lossy(output_bytes));
        return Err(failed(if problem.is_empty() {
            output.status.to_string()
        } else {
            problem
        }));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Retries if the executable was just written: a child forked by another thread in the meantime
/// keeps the file open until it calls `exec`.
async fn output_of(process: &mut tokio::process::Command) -> io::Result<Output> {
    for _ in 0..BUSY_ATTEMPTS {
        match process.output().await {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(BUSY_RETRY_DELAY).await;
            }
            ended => return ended,
        }
    }
    process.output().await
}

fn output_tail(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(STDERR_TAIL);
    text.chars().skip(skipped).collect()
}
