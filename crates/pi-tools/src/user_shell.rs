//! Runs commands that the user types with `!`. They run like commands of the model but without
//! session variables. Their output is plain text, because it is shown on screen and stored in the
//! session.

use std::path::PathBuf;
use std::sync::Arc;

use pi_core::{ProcessError, ProcessOperations, ShellCommand, ShellLanguage, Variables};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::output_spool::{OutputForm, OutputSpool, SpillTarget};
use crate::shell_run::{self, OutputProgress, with_prefix};

#[derive(Clone)]
pub struct UserShell {
    /// Working directory of commands.
    pub cwd: PathBuf,
    pub processes: Arc<dyn ProcessOperations>,
    /// Variables that commands start with.
    pub vars: Variables,
    /// Commands to run before each command.
    pub command_prefix: Option<String>,
    /// Where long output is saved.
    pub spill_directory: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellResult {
    /// The output, or its end if it is too long.
    pub output: String,
    /// `None` if the command was canceled or the code is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// Whether `output` contains only the end.
    pub truncated: bool,
    /// File with the full output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<PathBuf>,
}

impl UserShell {
    /// Runs a command; `on_text` receives its output as it arrives.
    pub async fn run(
        &self,
        command: &str,
        mut on_text: impl FnMut(&str) + Send,
        cancel: CancellationToken,
    ) -> Result<ShellResult, ProcessError> {
        let command = ShellCommand {
            command: with_prefix(self.command_prefix.as_deref(), command),
            cwd: self.cwd.clone(),
            environment: self.vars.clone(),
            timeout: None,
            shell: ShellLanguage::Bash,
        };
        let target = SpillTarget {
            directory: self.spill_directory.clone(),
            prefix: "pi-bash",
        };
        let mut spool = OutputSpool::new(OutputForm::Plain, target);
        let show = |progress: OutputProgress<'_>| match progress {
            OutputProgress::Text("") | OutputProgress::UpdateDue(_) => {}
            OutputProgress::Text(text) => on_text(text),
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
