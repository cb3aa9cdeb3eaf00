//! Runs the commands a person types with `!`.
//!
//! They run as the model's commands do, without the session's variables. Their output is plain text:
//! it is drawn on our screen and kept in the session.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::operations::{ProcessError, ProcessOperations, ShellCommand};
use crate::output_spool::{OutputForm, OutputSpool, SpillPlace};
use crate::shell::ShellEnvironment;
use crate::shell_run::{self, Progress, with_prefix};

/// Runs commands for the user.
#[derive(Clone)]
pub struct UserShell {
    /// The folder commands start in.
    pub cwd: PathBuf,
    pub processes: Arc<dyn ProcessOperations>,
    /// The environment they start from.
    pub environment: ShellEnvironment,
    /// A line run before each command.
    pub command_prefix: Option<String>,
    /// Where long output is saved.
    pub spill_directory: PathBuf,
}

/// How a command of the user went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellResult {
    /// The output, or its end when it is long.
    pub output: String,
    /// The exit code; absent when it was cancelled or is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The user stopped it.
    pub cancelled: bool,
    /// Only the end of the output is here.
    pub truncated: bool,
    /// The file with all of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<PathBuf>,
}

impl UserShell {
    /// Runs a command; `on_text` is given its output as it comes.
    pub async fn run(
        &self,
        command: &str,
        mut on_text: impl FnMut(&str) + Send,
        cancel: CancellationToken,
    ) -> Result<ShellResult, ProcessError> {
        let command = ShellCommand {
            command: with_prefix(self.command_prefix.as_deref(), command),
            cwd: self.cwd.clone(),
            environment: self.environment.for_user(),
            timeout: None,
        };
        let place = SpillPlace {
            directory: self.spill_directory.clone(),
            prefix: "pi-bash",
        };
        let mut spool = OutputSpool::new(OutputForm::Plain, place);
        let show = |progress: Progress<'_>| match progress {
            Progress::Text("") | Progress::Due(_) => {}
            Progress::Text(text) => on_text(text),
        };
        let processes = &*self.processes;
        let result = shell_run::run(processes, command, &mut spool, show, cancel.clone()).await;
        let exit_code = match result {
            Ok(code) if !cancel.is_cancelled() => code.0,
            Err(error) if !cancel.is_cancelled() => return Err(error),
            Ok(_) | Err(_) => None,
        };
        let snapshot = spool.snapshot();
        Ok(ShellResult {
            output: snapshot.truncation.content,
            exit_code,
            cancelled: cancel.is_cancelled(),
            truncated: snapshot.truncation.truncated,
            full_output_path: snapshot.full_output_path,
        })
    }
}
