//! Runs Git without the configuration of the user, prompts or hooks.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{ProcessGroup, WorkspaceError, output_tail};
use crate::leftovers::RUN_VARIABLE;

pub(super) struct Git {
    directory: PathBuf,
    index: Option<PathBuf>,
    input: Vec<u8>,
    /// Identifies the process if this one is killed.
    marker: String,
}

impl Git {
    pub(super) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            index: None,
            input: Vec::new(),
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

    /// Uses another index than the one of the repository.
    pub(super) fn with_index(mut self, index: &Path) -> Self {
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
        let mut command = Command::new("git");
        command
            // Hooks and file monitors of a repository are code of strangers.
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ])
            .args([
                "-c",
                "protocol.ext.allow=never",
                "-c",
                "advice.detachedHead=false",
            ])
            .args(arguments)
            .current_dir(&self.directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            // Errors in the language of the user could not be recognized.
            .env("LC_ALL", "C")
            .env(RUN_VARIABLE, &self.marker)
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(index) = &self.index {
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
        let ((), output) = tokio::join!(writing, process.wait_with_output());
        let output = output.map_err(failed)?;
        group.keep();
        if output.status.success() {
            return Ok(output.stdout);
        }
        let name = arguments.first().copied().unwrap_or_default();
        Err(WorkspaceError::Failed {
            command: format!("git {name}"),
            output: output_tail(&output),
        })
    }
}
