//! The `bash` and `powershell` tools. The model receives the end of the output and the exit status;
//! long output is saved to a file. Running commands and buffering their output is in `shell` and
//! `output_spool`, the result in `bash/result`.

mod result;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_core::{ShellCommand, ShellLanguage, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::context::{ToolPrompt, declare_strict, parse_arguments};
use crate::output_spool::{OutputForm, OutputSpool, SpillTarget};
use crate::session_variables::{SharedSessionVariables, model_variables};
use crate::shell_run::{self, OutputProgress, with_prefix};
use crate::truncate::{MAX_BYTES, MAX_LINES, format_size};
use result::{FinishedCommand, partial_output};

/// Maximum timeout in seconds: the largest 32-bit number of milliseconds.
const MAX_TIMEOUT_SECONDS: f64 = 2_147_483.647;

/// Changes a command before it starts, such as its directory, variables or a wrapper.
pub trait SpawnHook: Send + Sync {
    /// Returns the command to run. An error is returned to the model.
    fn adjust(&self, command: ShellCommand) -> BoxFuture<'_, Result<ShellCommand, ToolError>>;
}

#[derive(Clone)]
pub struct ShellToolOptions {
    /// Session variables for commands; `None` sets none.
    pub session: Option<SharedSessionVariables>,
    /// Commands to run before each command.
    pub command_prefix: Option<String>,
    pub spawn_hook: Option<Arc<dyn SpawnHook>>,
    /// Where long output is saved.
    pub spill_directory: PathBuf,
}

impl Default for ShellToolOptions {
    fn default() -> Self {
        Self {
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
    language: ShellLanguage,
    shell: &'static str,
    snippet: &'static str,
    spill_prefix: &'static str,
    /// Prepended to every command.
    preamble: &'static str,
}

const BASH: ShellToolKind = ShellToolKind {
    name: "bash",
    language: ShellLanguage::Bash,
    shell: "bash",
    snippet: "Run a shell command",
    spill_prefix: "pi-bash",
    preamble: "",
};

/// The preamble makes PowerShell write UTF-8 regardless of the code page.
#[cfg(any(windows, test))]
const POWERSHELL: ShellToolKind = ShellToolKind {
    name: "powershell",
    language: ShellLanguage::PowerShell,
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

/// Returns the schema of what the tool returns as data.
pub(crate) fn output_schema() -> Value {
    json!({
        "type": "object",
        "required": ["output", "truncated", "exit_code", "wall_time_seconds"],
        "properties": {
            "output": {"type": "string", "description": "Standard output and standard error, possibly truncated"},
            "truncated": {"type": "boolean"},
            "full_output_path": {"type": "string", "description": "File with the full output, if truncated"},
            "exit_code": {"type": "number"},
            "wall_time_seconds": {"type": "number"},
        },
    })
}

impl ShellTool {
    pub fn bash(options: ShellToolOptions) -> Self {
        Self::new(BASH, options)
    }

    /// Creates the `powershell` tool.
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

    async fn command(
        &self,
        cx: &ToolContext,
        arguments: ShellArguments,
    ) -> Result<ShellCommand, ToolError> {
        let options = &self.options;
        let session = options
            .session
            .as_ref()
            .and_then(SharedSessionVariables::get);
        let command = ShellCommand {
            command: with_prefix(options.command_prefix.as_deref(), &arguments.command),
            cwd: cx.session.cwd().to_owned(),
            environment: model_variables(&cx.env.vars, session),
            timeout: arguments.timeout.map(time_limit).transpose()?,
            shell: self.kind.language,
        };
        let mut command = match &options.spawn_hook {
            Some(hook) => hook.adjust(command).await?,
            None => command,
        };
        command.command.insert_str(0, self.kind.preamble);
        Ok(command)
    }

    async fn run(&self, cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        let arguments = parse_arguments(arguments)?;
        cx.progress.send(ToolOutput::default());
        let command = self.command(&cx, arguments).await?;
        let target = SpillTarget {
            directory: self.options.spill_directory.clone(),
            prefix: self.kind.spill_prefix,
        };
        let mut spool = OutputSpool::new(OutputForm::Raw, target);
        let show = |output: OutputProgress<'_>| match output {
            OutputProgress::Text(_) => {}
            OutputProgress::UpdateDue(spool) => {
                cx.progress.send(partial_output(spool.snapshot()));
            }
        };
        let processes = &*cx.env.processes;
        let cancel = cx.cancel.clone();
        let started = Instant::now();
        let outcome = shell_run::run(processes, command, &mut spool, show, cancel).await;
        let finished = FinishedCommand {
            spool: &spool,
            wall_time: started.elapsed(),
            shell: self.kind.shell,
            processes,
        };
        finished.result(outcome).await
    }
}

impl Tool for ShellTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx, arguments))
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

#[cfg(test)]
mod tests;
