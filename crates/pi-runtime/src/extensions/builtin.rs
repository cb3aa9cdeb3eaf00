//! Runs built-in tools for extensions, with their default operations or those of an extension.

mod operations;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_core::{
    Environment, NoSession, ProcessError, ProcessOperations, ShellCommand, ShellLanguage, Tool,
    ToolContext, ToolOutput,
};
use pi_ext::{HostError, HostFuture};
use pi_protocol::json::JsonObject;
use pi_tools::{
    EditTool, FileSearch, FindTool, GrepTool, ImagePolicy, LocalShell, LsTool, MutationQueue,
    ReadTool, SharedImagePolicy, ShellTool, ShellToolOptions, WriteTool, local_environment,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::bridge::{ExtensionBridge, field, host_error, read, result_to_json, unknown};
use super::jobs::JobCallback;
use crate::toolset::{Toolset, ToolsetOptions};

use operations::JavaScriptFiles;
pub(super) use operations::JavaScriptShell;

/// Output chunks waiting to be read by JavaScript.
const OUTPUT_QUEUE: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolRun {
    number: u64,
    name: String,
    cwd: PathBuf,
    #[serde(default)]
    call_id: String,
    #[serde(default)]
    arguments: JsonObject,
    /// The file operations the extension supplies.
    #[serde(default)]
    operations: Vec<String>,
    /// Whether the extension runs shell commands itself.
    #[serde(default)]
    has_processes: bool,
    shell_path: Option<PathBuf>,
    env: Option<std::collections::BTreeMap<String, String>>,
    resize_images: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellRun {
    number: u64,
    command: String,
    cwd: PathBuf,
    timeout: Option<f64>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    shell_path: Option<PathBuf>,
}

impl ExtensionBridge {
    pub(super) fn call_builtin(&self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let name: String = field(arguments, "name")?;
        let tools = Toolset::new(ToolsetOptions::new(&self.cwd));
        let known = tools
            .get(&name)
            .ok_or_else(|| HostError::new(format!("tool not available on this system: {name}")))?;
        let declaration = known.tool.declaration();
        match method {
            "builtin.describe" => Ok(json!({
                "name": declaration.name,
                "label": known.tool.label(),
                "description": declaration.description,
                "parameters": declaration.parameters,
                "constrainedSampling": declaration.constrained_sampling,
                "promptSnippet": known.snippet,
                "promptGuidelines": known.guidelines,
            })),
            "builtin.prepare" => {
                let given: JsonObject = field(arguments, "arguments")?;
                Ok(Value::Object(known.tool.prepare_arguments(given)))
            }
            _ => Err(unknown(method)),
        }
    }

    pub(super) fn run_builtin(
        &self,
        extension: Option<&str>,
        arguments: Value,
    ) -> Result<HostFuture, HostError> {
        let run: ToolRun = read(arguments)?;
        let callback = self.callback(extension, run.number)?;
        let tool = build(&run)?;
        let environment = Arc::new(environment(&run, &callback));
        let work = self.start_job(run.number)?;
        Ok(self.spawn_on_runtime(async move {
            let session = Arc::new(NoSession::at(run.cwd));
            let cx = ToolContext {
                cancel: work.cancel(),
                ..ToolContext::new(&*run.call_id, session, environment)
            };
            let progress = cx.progress.clone();
            let running = tool.call(cx, run.arguments);
            let mut running = std::pin::pin!(running);
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut running => return result_to_json(outcome),
                    partial = progress.next() => show(&callback, partial).await,
                }
            }
        }))
    }

    /// Runs a command in a local shell and streams its output to JavaScript.
    pub(super) fn run_shell(
        &self,
        extension: Option<&str>,
        arguments: Value,
    ) -> Result<HostFuture, HostError> {
        let run: ShellRun = read(arguments)?;
        let callback = self.callback(extension, run.number)?;
        let work = self.start_job(run.number)?;
        Ok(self.spawn_on_runtime(async move {
            let shell = run
                .shell_path
                .map_or_else(LocalShell::default, LocalShell::at);
            let environment = run.env.into_iter();
            let timeout = run.timeout.filter(|seconds| *seconds > 0.0);
            let command = ShellCommand {
                command: run.command,
                cwd: run.cwd,
                environment: environment
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect(),
                timeout: timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
                shell: ShellLanguage::Bash,
            };
            let (sender, mut output) = mpsc::channel(OUTPUT_QUEUE);
            let forwarding = async {
                while let Some(bytes) = output.recv().await {
                    let data = BASE64_STANDARD.encode(bytes);
                    if let Err(error) = callback.call("output", data.into(), None).await {
                        tracing::debug!(%error, "cannot forward command output to extension");
                    }
                }
            };
            let running = shell.execute(command, sender, work.cancel());
            let (outcome, ()) = tokio::join!(running, forwarding);
            match outcome {
                Ok(code) => Ok(json!({ "exitCode": code.0 })),
                // Extensions identify these two errors by their text.
                Err(ProcessError::Aborted) => Err(HostError::new("aborted")),
                Err(ProcessError::TimedOut(after)) => {
                    Err(HostError::new(format!("timeout:{}", after.as_secs_f64())))
                }
                Err(error) => Err(host_error(error)),
            }
        }))
    }
}

async fn show(callback: &JobCallback, partial: ToolOutput) {
    let partial = match serde_json::to_value(partial) {
        Ok(partial) => partial,
        Err(error) => {
            tracing::warn!(%error, "cannot serialize partial result");
            return;
        }
    };
    if let Err(error) = callback.call("update", partial, None).await {
        tracing::debug!(%error, "cannot forward partial result to extension");
    }
}

fn build(run: &ToolRun) -> Result<Box<dyn Tool>, HostError> {
    Ok(match run.name.as_str() {
        "bash" => Box::new(ShellTool::bash(ShellToolOptions::default())),
        "read" => {
            let images = SharedImagePolicy::default();
            if run.resize_images == Some(false) {
                images.set(ImagePolicy {
                    limits: None,
                    ..images.get()
                });
            }
            Box::new(ReadTool::new(images))
        }
        "write" => Box::new(WriteTool::new(MutationQueue::default())),
        "edit" => Box::new(EditTool::new(MutationQueue::default())),
        "grep" => Box::new(GrepTool::default()),
        "find" => Box::new(FindTool::default()),
        "ls" => Box::new(LsTool::default()),
        name => {
            let message = format!("tool not available on this system: {name}");
            return Err(HostError::new(message));
        }
    })
}

/// Returns the local machine, with the operations that the extension supplies instead.
fn environment(run: &ToolRun, callback: &JobCallback) -> Environment {
    let mut environment = local_environment();
    // Searches for text always use local files, even if the extension supplies other file
    // operations.
    if !run.operations.is_empty() && run.name != "grep" {
        let files = JavaScriptFiles::new(callback.clone(), run.operations.clone());
        environment.files = Arc::new(files);
        environment.search = Arc::new(FileSearch(Arc::clone(&environment.files)));
    }
    if run.has_processes {
        environment.processes = Arc::new(JavaScriptShell::new(callback.clone()));
    } else if let Some(path) = &run.shell_path {
        environment.processes = Arc::new(LocalShell::at(path));
    }
    if let Some(env) = &run.env {
        let env = env.iter().map(|(name, value)| (name.into(), value.into()));
        environment.vars = env.collect();
    }
    environment
}
