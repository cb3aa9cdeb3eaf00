//! The `process` tool: starts commands that keep running, such as servers and watchers, and reads, writes and stops them in
//! later calls. The processes are in `process/background`; they end with the session.

mod background;
mod recent_output;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_core::{
    ExecutionMode, RegisteredTool, ShellCommand, ShellLanguage, Tool, ToolContext, ToolError,
    ToolMetadata, ToolOrigin,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

pub use background::{
    BackgroundProcessError, BackgroundProcesses, ProcessExit, ProcessState, ProcessStatus,
};

use crate::context::{declare, parse_arguments};
use crate::session_variables::{SessionVariables, model_variables};
use crate::shell_run::with_prefix;
use background::{BackgroundProcess, NewProcess};

/// Name of the tool.
const NAME: &str = "process";

/// How long `start` waits for a command that fails at once.
const START_TIME: Duration = Duration::from_millis(500);

/// Starts and controls background processes.
pub struct ProcessTool {
    declaration: ToolDeclaration,
    options: ProcessToolOptions,
}

#[derive(Clone)]
pub struct ProcessToolOptions {
    pub processes: BackgroundProcesses,
    /// Returns the session variables for a command.
    pub variables: Arc<dyn Fn() -> Option<SessionVariables> + Send + Sync>,
    /// Commands to run before each command.
    pub command_prefix: Option<String>,
    /// Where long output is saved.
    pub spill_directory: PathBuf,
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
enum ProcessArguments {
    Start {
        name: String,
        command: String,
        #[serde(default)]
        notify: bool,
    },
    Read {
        name: String,
        #[serde(default)]
        since: u64,
    },
    Write {
        name: String,
        data: String,
    },
    Stop {
        name: String,
    },
    List,
}

impl ProcessTool {
    pub fn new(options: ProcessToolOptions) -> Self {
        let declaration = declare(
            NAME,
            "Run commands in the background, such as servers and watchers. \
             start: run a command under a name. read: output since a position. write: send text to its input. \
             stop: end it. list: all processes. They end with the session.",
            json!({
                "type": "object",
                "required": ["action"],
                "properties": {
                    "action": {"type": "string", "enum": ["start", "read", "write", "stop", "list"]},
                    "name": {"type": "string", "description": "Name of the process; all actions except list need it"},
                    "command": {"type": "string", "description": "start: the bash command"},
                    "notify": {"type": "boolean", "description": "start: whether to send a message when the process ends"},
                    "since": {"type": "integer", "minimum": 0, "description": "read: position from an earlier result (optional, all output by default)"},
                    "data": {"type": "string", "description": "write: the text, with \\n at the end of a line"},
                },
            }),
        );
        Self {
            declaration,
            options,
        }
    }

    /// Returns the tool with what the system prompt says about it.
    pub fn registered(self) -> RegisteredTool {
        RegisteredTool {
            tool: Arc::new(self),
            origin: ToolOrigin::Extension,
            snippet: Some("Run commands in the background".to_owned()),
            guidelines: vec![
                "Use process for commands that keep running, such as servers; bash waits for its command."
                    .to_owned(),
            ],
            is_default_active: true,
            metadata: ToolMetadata {
                output_schema: Some(output_schema()),
                builtin_extension: Some(NAME),
                ..ToolMetadata::default()
            },
        }
    }

    async fn run(&self, cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        let processes = &self.options.processes;
        match parse_arguments(arguments)? {
            ProcessArguments::Start {
                name,
                command,
                notify,
            } => self.start(&cx, name, command, notify).await,
            ProcessArguments::Read { name, since } => Ok(report(&*processes.get(&name)?, since)),
            ProcessArguments::Write { name, data } => {
                let process = processes.get(&name)?;
                process.write(data)?;
                Ok(ToolOutput::text(format!("Sent to {name}.")))
            }
            ProcessArguments::Stop { name } => {
                let process = processes.get(&name)?;
                processes.stop(&name).await?;
                Ok(report(&process, 0))
            }
            ProcessArguments::List => Ok(listing(&processes.list())),
        }
    }

    async fn start(
        &self,
        cx: &ToolContext,
        name: String,
        command: String,
        notify: bool,
    ) -> Result<ToolOutput, ToolError> {
        let options = &self.options;
        let new = NewProcess {
            command: ShellCommand {
                command: with_prefix(options.command_prefix.as_deref(), &command),
                cwd: cx.session.cwd().to_owned(),
                environment: model_variables(&cx.env.vars, (options.variables)()),
                timeout: None,
                shell: ShellLanguage::Bash,
            },
            name,
            title: command,
            notify,
            spill_directory: options.spill_directory.clone(),
        };
        let environment = Arc::clone(&cx.env.processes);
        let process = options.processes.start(environment, new)?;
        tokio::select! {
            () = process.ended() => {}
            () = tokio::time::sleep(START_TIME) => {}
            () = cx.cancel.cancelled() => {}
        }
        Ok(report(&process, 0))
    }
}

impl Tool for ProcessTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn execution_mode(&self) -> ExecutionMode {
        // A process is read after it was started or written to.
        ExecutionMode::Sequential
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx, arguments))
    }
}

impl From<BackgroundProcessError> for ToolError {
    fn from(error: BackgroundProcessError) -> Self {
        Self::new(error.to_string())
    }
}

/// Returns the schema of what the tool returns as data.
fn output_schema() -> Value {
    let state = json!({"type": "string", "enum": ["running", "exited", "stopped", "failed"]});
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "state": state,
            "exit_code": {"type": "number"},
            "output": {"type": "string", "description": "Output since the position, or its end"},
            "truncated": {"type": "boolean"},
            "next": {"type": "number", "description": "Position for the next read"},
            "full_output_path": {"type": "string", "description": "File with the full output, if that is long"},
            "processes": {"type": "array", "items": {"type": "object"}},
        },
    })
}

/// Returns the state of a process and its output since a position.
fn report(process: &BackgroundProcess, since: u64) -> ToolOutput {
    let state = process.state();
    let part = process.output_since(since);
    let mut text = if part.text.is_empty() {
        "(no new output)".to_owned()
    } else {
        part.text.clone()
    };
    let name = process.name();
    let mut notes = format!("\n\n{name} {state}.");
    if state == ProcessState::Running {
        write!(notes, " Continue reading with since={}.", part.end).unwrap_or_default();
    }
    if part.is_cut {
        notes.push_str(" Earlier output is not shown");
        match &part.file {
            Some(file) => write!(notes, "; full output: {}", file.display()).unwrap_or_default(),
            None => notes.push('.'),
        }
    }
    text.push_str(&notes);
    let mut content = fields(name, &state);
    content.insert("output".to_owned(), json!(part.text));
    content.insert("truncated".to_owned(), json!(part.is_cut));
    content.insert("next".to_owned(), json!(part.end));
    if let Some(file) = part.file {
        let file = file.to_string_lossy();
        content.insert("full_output_path".to_owned(), json!(file));
    }
    ToolOutput {
        structured_content: Some(Value::Object(content)),
        ..ToolOutput::text(text)
    }
}

fn listing(processes: &[ProcessStatus]) -> ToolOutput {
    let rows = processes.iter().map(|process| {
        let ProcessStatus { name, command, .. } = process;
        let state = &process.state;
        let age = process.age_seconds;
        format!("{name}: {state}, started {age} s ago: {command}")
    });
    let text = match processes {
        [] => "No processes.".to_owned(),
        _ => rows.collect::<Vec<_>>().join("\n"),
    };
    let rows: Vec<Value> = processes
        .iter()
        .map(|process| {
            let mut row = fields(&process.name, &process.state);
            row.insert("command".to_owned(), json!(process.command));
            row.insert("age_seconds".to_owned(), json!(process.age_seconds));
            Value::Object(row)
        })
        .collect();
    ToolOutput {
        structured_content: Some(json!({"processes": rows})),
        ..ToolOutput::text(text)
    }
}

fn fields(name: &str, state: &ProcessState) -> JsonObject {
    let word = match state {
        ProcessState::Running => "running",
        ProcessState::Exited(_) => "exited",
        ProcessState::Stopped => "stopped",
        ProcessState::Failed(_) => "failed",
    };
    let mut fields = JsonObject::new();
    fields.insert("name".to_owned(), json!(name));
    fields.insert("state".to_owned(), json!(word));
    if let ProcessState::Exited(Some(code)) = state {
        fields.insert("exit_code".to_owned(), json!(code));
    }
    fields
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
