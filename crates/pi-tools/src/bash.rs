//! The `bash` and `powershell` tools. The model receives the end of the output and the exit status;
//! long output is saved to a file. Running commands and buffering their output is in `shell` and
//! `output_spool`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_core::{Tool, ToolError, UpdateSink};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::{ToolPrompt, declare_strict, parse_arguments};
use crate::operations::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use crate::output_spool::{OutputForm, OutputSnapshot, OutputSpool, SpillTarget};
use crate::shell::{LocalShell, SharedSessionVariables, ShellEnvironment};
use crate::shell_run::{self, OutputProgress, with_prefix};
use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, format_size};

/// Maximum timeout in seconds: the largest 32-bit number of milliseconds.
const MAX_TIMEOUT_SECONDS: f64 = 2_147_483.647;

/// Changes a command before it starts, such as its directory, variables or a wrapper.
pub trait SpawnHook: Send + Sync {
    /// Returns the command to run. An error is returned to the model.
    fn adjust(&self, command: ShellCommand) -> BoxFuture<'_, Result<ShellCommand, ToolError>>;
}

#[derive(Clone)]
pub struct ShellToolOptions {
    /// Working directory of commands.
    pub cwd: PathBuf,
    pub processes: Arc<dyn ProcessOperations>,
    /// Base environment of commands.
    pub environment: ShellEnvironment,
    /// Session variables for commands; `None` sets none.
    pub session: Option<SharedSessionVariables>,
    /// Commands to run before each command.
    pub command_prefix: Option<String>,
    pub spawn_hook: Option<Arc<dyn SpawnHook>>,
    /// Where long output is saved.
    pub spill_directory: PathBuf,
}

impl ShellToolOptions {
    /// Runs commands in a local shell with the environment of this process.
    pub fn local(cwd: impl Into<PathBuf>, shell: LocalShell) -> Self {
        Self {
            cwd: cwd.into(),
            processes: Arc::new(shell),
            environment: ShellEnvironment::inherited(None),
            session: None,
            command_prefix: None,
            spawn_hook: None,
            spill_directory: std::env::temp_dir(),
        }
    }
}

/// Properties that differ between shell tools.
struct ShellToolKind {
    name: &'static str,
    shell: &'static str,
    snippet: &'static str,
    spill_prefix: &'static str,
    /// Prepended to every command.
    preamble: &'static str,
}

const BASH: ShellToolKind = ShellToolKind {
    name: "bash",
    shell: "bash",
    snippet: "Run a shell command",
    spill_prefix: "pi-bash",
    preamble: "",
};

/// The preamble makes PowerShell write UTF-8 regardless of the code page.
#[cfg(any(windows, test))]
const POWERSHELL: ShellToolKind = ShellToolKind {
    name: "powershell",
    shell: "PowerShell",
    snippet: "Run a PowerShell command",
    spill_prefix: "pi-powershell",
    preamble: "try { [Console]::OutputEncoding = [System.Text.Encoding]::UTF8 } catch {}\n",
};

pub struct ShellTool {
    declaration: ToolDeclaration,
    kind: ShellToolKind,
    options: ShellToolOptions,
}

#[derive(Deserialize)]
struct ShellArguments {
    command: String,
    timeout: Option<f64>,
}

impl ShellTool {
    pub fn bash(options: ShellToolOptions) -> Self {
        Self::new(BASH, options)
    }

    /// Creates the `powershell` tool; use it with [`LocalShell::power_shell`].
    #[cfg(windows)]
    pub fn power_shell(options: ShellToolOptions) -> Self {
        Self::new(POWERSHELL, options)
    }

    fn new(kind: ShellToolKind, options: ShellToolOptions) -> Self {
        let declaration = declare_strict(
            kind.name,
            &format!(
                "Run a {} command in the working directory. Returns stdout and stderr in order. Output \
                 is truncated to the last {MAX_LINES} lines or {} (whichever is reached first); if \
                 truncated, the full output is saved to a file named in the result. Optionally set a \
                 timeout in seconds.",
                kind.shell,
                format_size(MAX_BYTES),
            ),
            json!({
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"type": "string", "description": "Command to execute"},
                    "timeout": {
                        "type": "number",
                        "description": "Seconds after which the command is killed (optional, unlimited by default)",
                    },
                },
            }),
        );
        Self {
            declaration,
            kind,
            options,
        }
    }

    pub fn prompt(&self) -> ToolPrompt {
        ToolPrompt {
            snippet: self.kind.snippet,
            guidelines: match self.options.session {
                Some(_) => {
                    &["The PI_* environment variables describe the current session and model."]
                }
                None => &[],
            },
        }
    }

    async fn command(&self, arguments: ShellArguments) -> Result<ShellCommand, ToolError> {
        let options = &self.options;
        let session = options
            .session
            .as_ref()
            .and_then(SharedSessionVariables::get);
        let command = ShellCommand {
            command: with_prefix(options.command_prefix.as_deref(), &arguments.command),
            cwd: options.cwd.clone(),
            environment: options.environment.for_model(session),
            timeout: arguments.timeout.map(time_limit).transpose()?,
        };
        let mut command = match &options.spawn_hook {
            Some(hook) => hook.adjust(command).await?,
            None => command,
        };
        command.command.insert_str(0, self.kind.preamble);
        Ok(command)
    }

    async fn run(
        &self,
        arguments: JsonObject,
        updates: UpdateSink,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = parse_arguments(arguments)?;
        updates.send(ToolOutput::default());
        let command = self.command(arguments).await?;
        let target = SpillTarget {
            directory: self.options.spill_directory.clone(),
            prefix: self.kind.spill_prefix,
        };
        let mut spool = OutputSpool::new(OutputForm::Raw, target);
        let show = |progress: OutputProgress<'_>| match progress {
            OutputProgress::Text(_) => {}
            OutputProgress::UpdateDue(spool) => updates.send(partial_output(spool.snapshot())),
        };
        let processes = &*self.options.processes;
        let result = shell_run::run(processes, command, &mut spool, show, cancel).await;
        finish(&spool, result, self.kind.shell)
    }
}

impl Tool for ShellTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn execute<'a>(
        &'a self,
        _call_id: &'a str,
        arguments: JsonObject,
        updates: UpdateSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(arguments, updates, cancel))
    }
}

fn time_limit(seconds: f64) -> Result<Duration, ToolError> {
    if seconds > MAX_TIMEOUT_SECONDS {
        return Err(ToolError::new(format!(
            "Invalid timeout: the maximum is {MAX_TIMEOUT_SECONDS} seconds."
        )));
    }
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| ToolError::new("Invalid timeout: must be greater than zero."))
}

fn partial_output(snapshot: OutputSnapshot) -> ToolOutput {
    let mut details = JsonObject::new();
    if snapshot.truncation.truncated {
        details.insert("truncation".to_owned(), json!(snapshot.truncation));
    }
    if let Some(path) = snapshot.full_output_path {
        details.insert("fullOutputPath".to_owned(), json!(path.to_string_lossy()));
    }
    ToolOutput {
        details: Some(Value::Object(details)),
        ..ToolOutput::text(snapshot.truncation.content)
    }
}

/// Builds the result of a finished command.
fn finish(
    spool: &OutputSpool,
    result: Result<ExitCode, ProcessError>,
    shell: &str,
) -> Result<ToolOutput, ToolError> {
    let snapshot = spool.snapshot();
    let shown = output_text(spool, &snapshot);
    let status = match result {
        Ok(ExitCode(Some(0))) => {
            return Ok(ToolOutput {
                details: snapshot
                    .truncation
                    .truncated
                    .then(|| partial_output(snapshot).details)
                    .flatten(),
                ..ToolOutput::text(shown.unwrap_or_else(|| NO_OUTPUT.to_owned()))
            });
        }
        Ok(ExitCode(code)) => {
            let shown = shown.unwrap_or_else(|| NO_OUTPUT.to_owned());
            let status = match code {
                Some(code) => format!("Command exited with code {code}"),
                None => "Command exited without an exit code".to_owned(),
            };
            return Err(ToolError::new(format!("{shown}\n\n{status}")));
        }
        Err(ProcessError::Aborted) => "Command aborted".to_owned(),
        Err(ProcessError::TimedOut(limit)) => {
            format!("Command timed out after {} seconds", limit.as_secs_f64())
        }
        Err(ProcessError::MissingDirectory(path)) => format!(
            "Working directory does not exist: {}. Cannot run {shell} commands; create the directory \
             or continue in another one.",
            path.display()
        ),
        Err(error @ (ProcessError::Start(_) | ProcessError::Other(_))) => {
            format!("Cannot run {shell}: {error}")
        }
    };
    Err(ToolError::new(match shown {
        Some(shown) => format!("{shown}\n\n{status}"),
        None => status,
    }))
}

const NO_OUTPUT: &str = "(no output)";

/// Returns the output with a truncation notice; `None` if there is no output.
fn output_text(spool: &OutputSpool, snapshot: &OutputSnapshot) -> Option<String> {
    let cut = &snapshot.truncation;
    if !cut.truncated {
        return Some(cut.content.clone()).filter(|text| !text.is_empty());
    }
    let full_output = match (&snapshot.full_output_path, spool.failure()) {
        (Some(path), _) => format!("Full output: {}", path.display()),
        (None, Some(error)) => format!("Full output could not be saved: {error}"),
        (None, None) => "Full output was not saved".to_owned(),
    };
    let last = cut.total_lines;
    let first = last + 1 - cut.output_lines.min(last);
    let part = if cut.last_line_partial {
        format!(
            "Showing last {} of line {last} ({})",
            format_size(cut.output_bytes),
            format_size(spool.last_line_bytes())
        )
    } else {
        let limit = match cut.truncated_by {
            Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES)),
            Some(TruncatedBy::Lines) | None => String::new(),
        };
        format!("Showing lines {first}-{last} of {last}{limit}")
    };
    Some(format!("{}\n\n[{part}. {full_output}]", cut.content))
}

#[cfg(test)]
mod tests;
