//! Runs shell commands for the model.
//!
//! The model reads the end of the output and how the command ended; the whole output is in a file
//! when it is long. How commands run and how their output is kept is left to `shell` and
//! `output_spool`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink};
use pi_ai::Tool as ToolDeclaration;
use pi_ai::json::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::{ToolPrompt, declare_strict, parse_arguments};
use crate::operations::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use crate::output_spool::{OutputForm, OutputSpool, Snapshot, SpillPlace};
use crate::shell::{LocalShell, SharedSessionVariables, ShellEnvironment};
use crate::shell_run::{self, Progress, with_prefix};
use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, format_size};

/// The longest timeout, in seconds: what fits a 32-bit number of milliseconds.
const MAX_TIMEOUT_SECONDS: f64 = 2_147_483.647;

/// Changes a command before it starts: another folder, more variables, a wrapper around it.
pub trait SpawnHook: Send + Sync {
    /// Returns the command to run instead. An error is told to the model.
    fn adjust(&self, command: ShellCommand) -> BoxFuture<'_, Result<ShellCommand, ToolError>>;
}

/// How a shell tool runs its commands.
#[derive(Clone)]
pub struct ShellToolOptions {
    /// The folder commands start in.
    pub cwd: PathBuf,
    pub processes: Arc<dyn ProcessOperations>,
    /// The environment they start from.
    pub environment: ShellEnvironment,
    /// What commands learn of the session; `None` keeps it from them.
    pub session: Option<SharedSessionVariables>,
    /// A line run before each command.
    pub command_prefix: Option<String>,
    /// Changes commands before they start.
    pub spawn_hook: Option<Arc<dyn SpawnHook>>,
    /// Where long output is saved.
    pub spill_directory: PathBuf,
}

impl ShellToolOptions {
    /// Runs commands in a shell of this machine, with the environment of this process.
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

/// What tells one shell tool from another.
struct Dialect {
    name: &'static str,
    shell: &'static str,
    snippet: &'static str,
    spill_prefix: &'static str,
    /// What stands before every command, unseen.
    preamble: &'static str,
}

const BASH: Dialect = Dialect {
    name: "bash",
    shell: "bash",
    snippet: "Run a shell command",
    spill_prefix: "pi-bash",
    preamble: "",
};

/// The preamble makes PowerShell write UTF-8 whatever the code page.
#[cfg(any(windows, test))]
const POWERSHELL: Dialect = Dialect {
    name: "powershell",
    shell: "PowerShell",
    snippet: "Run a PowerShell command",
    spill_prefix: "pi-powershell",
    preamble: "try { [Console]::OutputEncoding = [System.Text.Encoding]::UTF8 } catch {}\n",
};

/// Runs commands in a shell.
pub struct ShellTool {
    declaration: ToolDeclaration,
    dialect: Dialect,
    options: ShellToolOptions,
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout: Option<f64>,
}

impl ShellTool {
    /// Creates the tool `bash`.
    pub fn bash(options: ShellToolOptions) -> Self {
        Self::new(BASH, options)
    }

    /// Creates the tool `powershell`; its options name [`LocalShell::power_shell`].
    #[cfg(windows)]
    pub fn power_shell(options: ShellToolOptions) -> Self {
        Self::new(POWERSHELL, options)
    }

    fn new(dialect: Dialect, options: ShellToolOptions) -> Self {
        let declaration = declare_strict(
            dialect.name,
            &format!(
                "Runs a {} command in the working directory and returns what it writes to stdout \
                 and stderr, in order. Of long output the last {MAX_LINES} lines or {} are shown, \
                 whichever is less, and all of it is saved to a file that the result names. A \
                 command may be given a time limit in seconds.",
                dialect.shell,
                format_size(MAX_BYTES),
            ),
            json!({
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"type": "string", "description": "The command to run"},
                    "timeout": {
                        "type": "number",
                        "description": "Time limit in seconds; without it there is none",
                    },
                },
            }),
        );
        Self {
            declaration,
            dialect,
            options,
        }
    }

    /// Returns what the tool adds to the system prompt.
    pub fn prompt(&self) -> ToolPrompt {
        ToolPrompt {
            snippet: self.dialect.snippet,
            guidelines: match self.options.session {
                Some(_) => {
                    &["The current session and model are in the PI_* environment variables."]
                }
                None => &[],
            },
        }
    }

    async fn command(&self, arguments: Arguments) -> Result<ShellCommand, ToolError> {
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
        command.command.insert_str(0, self.dialect.preamble);
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
        let place = SpillPlace {
            directory: self.options.spill_directory.clone(),
            prefix: self.dialect.spill_prefix,
        };
        let mut spool = OutputSpool::new(OutputForm::Raw, place);
        let show = |progress: Progress<'_>| match progress {
            Progress::Text(_) => {}
            Progress::Due(spool) => updates.send(partial_output(spool.snapshot())),
        };
        let processes = &*self.options.processes;
        let result = shell_run::run(processes, command, &mut spool, show, cancel).await;
        finish(&spool, result, self.dialect.shell)
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
            "The timeout is too long: the most is {MAX_TIMEOUT_SECONDS} seconds."
        )));
    }
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| ToolError::new("The timeout must be a number of seconds greater than zero."))
}

fn partial_output(snapshot: Snapshot) -> ToolOutput {
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

/// Tells the model how a command ended.
fn finish(
    spool: &OutputSpool,
    result: Result<ExitCode, ProcessError>,
    shell: &str,
) -> Result<ToolOutput, ToolError> {
    let snapshot = spool.snapshot();
    let shown = shown_text(spool, &snapshot);
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
                Some(code) => format!("The command ended with exit code {code}."),
                None => "The command ended without an exit code.".to_owned(),
            };
            return Err(ToolError::new(format!("{shown}\n\n{status}")));
        }
        Err(ProcessError::Aborted) => "The command was aborted.".to_owned(),
        Err(ProcessError::TimedOut(limit)) => {
            format!(
                "The command was stopped after {} seconds.",
                limit.as_secs_f64()
            )
        }
        Err(ProcessError::MissingDirectory(path)) => format!(
            "The working directory {} does not exist, so no {shell} command can run. Create it again, \
             or continue in another directory.",
            path.display()
        ),
        Err(error @ (ProcessError::Start(_) | ProcessError::Other(_))) => {
            format!("{shell} failed: {error}")
        }
    };
    Err(ToolError::new(match shown {
        Some(shown) => format!("{shown}\n\n{status}"),
        None => status,
    }))
}

const NO_OUTPUT: &str = "(no output)";

/// The output with a notice of what is missing; `None` when there is none.
fn shown_text(spool: &OutputSpool, snapshot: &Snapshot) -> Option<String> {
    let cut = &snapshot.truncation;
    if !cut.truncated {
        return Some(cut.content.clone()).filter(|text| !text.is_empty());
    }
    let whole = match (&snapshot.full_output_path, spool.failure()) {
        (Some(path), _) => format!("All of it: {}", path.display()),
        (None, Some(error)) => format!("The rest could not be saved: {error}"),
        (None, None) => "The rest was not saved".to_owned(),
    };
    let last = cut.total_lines;
    let first = last + 1 - cut.output_lines.min(last);
    let part = if cut.last_line_partial {
        format!(
            "The last {} of line {last} ({}) are shown",
            format_size(cut.output_bytes),
            format_size(spool.last_line_bytes())
        )
    } else {
        let limit = match cut.truncated_by {
            Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES)),
            Some(TruncatedBy::Lines) | None => String::new(),
        };
        format!("Lines {first}-{last} of {last} are shown{limit}")
    };
    Some(format!("{}\n\n[{part}. {whole}]", cut.content))
}

#[cfg(test)]
mod tests;
