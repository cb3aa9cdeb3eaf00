//! Runs Git on repositories that runs cannot write, without prompts, hooks or programs that a working directory configures.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::{ProcessGroup, WorkspaceError, output_tail};
use crate::leftovers::RUN_VARIABLE;

/// Longest output in bytes. Patches and packs are kept in memory, and packs in the log of their run.
const MAX_OUTPUT: u64 = 256 * 1024 * 1024;

#[derive(Clone)]
pub(super) struct Git {
    directory: PathBuf,
    /// The repository. It is never searched for: what a run writes to its workspace may look like one, and its
    /// configuration can name programs.
    repository: Option<PathBuf>,
    index: Option<PathBuf>,
    input: Vec<u8>,
    /// Longest output, in bytes.
    limit: u64,
    /// Identifies the process if this one is killed.
    marker: String,
}

impl Git {
    /// Uses a repository without working files.
    pub(super) fn at(repository: &Path) -> Self {
        Self {
            repository: Some(repository.to_owned()),
            ..Self::outside(repository)
        }
    }

    /// Uses no repository, to create one.
    pub(super) fn outside(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            repository: None,
            index: None,
            input: Vec::new(),
            limit: MAX_OUTPUT,
            marker: String::new(),
        }
    }

    /// Sets what [`crate::leftovers`] finds the command by.
    pub(super) fn marked(mut self, marker: &str) -> Self {
        marker.clone_into(&mut self.marker);
        self
    }

    /// Writes bytes to the standard input of the command.
    pub(super) fn with_input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    #[cfg(test)]
    pub(super) fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Uses the files of a directory, with an index that no other repository has.
    pub(super) fn with_files(mut self, directory: &Path, index: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self.index = Some(index.to_owned());
        self
    }

    pub(super) async fn run(&self, arguments: &[&str]) -> Result<(), WorkspaceError> {
        self.bytes(arguments).await.map(drop)
    }

    /// Returns the output without the line feed at its end.
    pub(super) async fn output(&self, arguments: &[&str]) -> Result<String, WorkspaceError> {
        let bytes = self.bytes(arguments).await?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    pub(super) async fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>, WorkspaceError> {
        let mut command = Command::from(pi_git::command());
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            // Errors in the language of the user could not be recognized.
            .env("LC_ALL", "C")
            .env(RUN_VARIABLE, &self.marker)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(repository) = &self.repository {
            command.env("GIT_DIR", repository);
        }
        if let Some(index) = &self.index {
            command.env("GIT_WORK_TREE", &self.directory);
            command.env("GIT_INDEX_FILE", index);
        }
        let failed = |source| WorkspaceError::Start {
            program: "git".to_owned(),
            source,
        };
        let (mut process, group) = ProcessGroup::spawn(&mut command).map_err(failed)?;
        let input = process.stdin.take();
        let writing = async {
            if let Some(mut input) = input {
                // A command that fails early does not read it.
                input.write_all(&self.input).await.ok();
            }
        };
        let output = read(process.stdout.take(), self.limit);
        let errors = read(process.stderr.take(), self.limit);
        let ((), stdout, stderr) = tokio::join!(writing, output, errors);
        let (stdout, stderr) = (stdout.map_err(failed)?, stderr.map_err(failed)?);
        if stdout.len() as u64 > self.limit {
            return Err(WorkspaceError::TooLong {
                command: command_name(arguments),
                bytes: self.limit,
            });
        }
        let status = process.wait().await.map_err(failed)?;
        let output = Output {
            status,
            stdout,
            stderr,
        };
        group.keep();
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(WorkspaceError::Failed {
            command: command_name(arguments),
            output: output_tail(&output),
        })
    }
}

fn command_name(arguments: &[&str]) -> String {
    format!("git {}", arguments.first().copied().unwrap_or_default())
}

/// Reads at most one byte more than the limit. The command cannot write more then.
async fn read(output: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        output.take(limit + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
