//! Runs built-in tools for extensions, with their default operations or those of an extension.

mod operations;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_core::{
    Environment, NoSession, ProcessError, ProcessOperations, ShellCommand, ShellLanguage, Tool,
    ToolContext,
};
use pi_ext::HostError;
use pi_protocol::ToolOutput;
use pi_protocol::json::JsonObject;
use pi_sandbox::Sandbox;
use pi_tools::{
    EditTool, FileSearch, FindTool, GrepTool, ImagePolicy, LocalShell, LsTool, MutationQueue,
    ReadTool, SharedImagePolicy, ShellTool, ShellToolOptions, WriteTool, confine_files,
    local_environment,
};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::Caller;
use crate::bridge::host_error;
use crate::callbacks::{CommandOutput, PartialResult};
use crate::calls::{BuiltinCalls, BuiltinTool, Pending, ShellExit};
use crate::control::ToolRegistration;
use crate::jobs::JobCallback;

use operations::JavaScriptFiles;
pub(crate) use operations::JavaScriptShell;

/// Output chunks waiting to be read by JavaScript.
const OUTPUT_QUEUE: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolRun {
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
pub(crate) struct ShellRun {
    number: u64,
    command: String,
    cwd: PathBuf,
    timeout: Option<f64>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    shell_path: Option<PathBuf>,
}

impl BuiltinCalls for Caller<'_> {
    fn describe(&self, name: String) -> Result<BuiltinTool, HostError> {
        let known = self.builtin(&name)?;
        let declaration = known.tool.declaration();
        Ok(BuiltinTool {
            name: declaration.name.clone(),
            label: known.tool.label().to_owned(),
            description: declaration.description.clone(),
            parameters: declaration.parameters.clone(),
            constrained_sampling: declaration.constrained_sampling.clone(),
            prompt_snippet: known.snippet.clone(),
            prompt_guidelines: known.guidelines.clone(),
        })
    }

    fn prepare_arguments(
        &self,
        name: String,
        arguments: JsonObject,
    ) -> Result<JsonObject, HostError> {
        Ok(self.builtin(&name)?.tool.prepare_arguments(arguments))
    }

    fn run(&self, run: Box<ToolRun>) -> Result<Pending<ToolOutput>, HostError> {
        let callback = self.bridge.callback(self.extension, run.number)?;
        let tool = build(&run)?;
        let environment = Arc::new(environment(&run, &callback, self.bridge.sandbox.as_ref()));
        let job = self.bridge.start_job(run.number)?;
        Ok(self.bridge.spawn_on_runtime(async move {
            let run = *run;
            let session = Arc::new(NoSession::at(run.cwd));
            let cx = ToolContext {
                cancel: job.cancel(),
                ..ToolContext::new(&*run.call_id, session, environment)
            };
            let progress = cx.progress.clone();
            let running = tool.call(cx, run.arguments);
            let mut running = std::pin::pin!(running);
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut running => return outcome.map_err(host_error),
                    partial = progress.next() => show(&callback, partial).await,
                }
            }
        }))
    }

    fn run_shell(&self, run: ShellRun) -> Result<Pending<ShellExit>, HostError> {
        let callback = self.bridge.callback(self.extension, run.number)?;
        let job = self.bridge.start_job(run.number)?;
        let sandbox = self.bridge.sandbox.clone();
        Ok(self.bridge.spawn_on_runtime(async move {
            let shell = run
                .shell_path
                .map_or_else(LocalShell::default, LocalShell::at)
                .with_sandbox(sandbox);
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
                    let output = CommandOutput(BASE64_STANDARD.encode(bytes));
                    if let Err(error) = callback.run(&output).await {
                        tracing::debug!(%error, "cannot forward command output to extension");
                    }
                }
            };
            let running = shell.execute(command, sender, job.cancel());
            let (outcome, ()) = tokio::join!(running, forwarding);
            match outcome {
                Ok(code) => Ok(ShellExit { exit_code: code.0 }),
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

impl Caller<'_> {
    fn builtin(&self, name: &str) -> Result<ToolRegistration, HostError> {
        let services = &self.bridge.services;
        let known = services.builtin_tool(&self.bridge.cwd, name);
        known.ok_or_else(|| HostError::new(format!("tool not available on this system: {name}")))
    }
}

async fn show(callback: &JobCallback, partial: ToolOutput) {
    if let Err(error) = callback.run(&PartialResult(partial)).await {
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
fn environment(
    run: &ToolRun,
    callback: &JobCallback,
    sandbox: Option<&Arc<Sandbox>>,
) -> Environment {
    let mut environment = local_environment();
    if let Some(sandbox) = sandbox {
        confine_files(&mut environment, sandbox);
    }
    // Searches for text always use local files, even if the extension supplies other file
    // operations.
    if !run.operations.is_empty() && run.name != "grep" {
        let files = JavaScriptFiles::new(callback.clone(), run.operations.clone());
        environment.files = Arc::new(files);
        environment.search = Arc::new(FileSearch(Arc::clone(&environment.files)));
    }
    if run.has_processes {
        environment.processes = Arc::new(JavaScriptShell::new(callback.clone()));
    } else {
        let shell = run.shell_path.as_ref();
        let shell = shell.map_or_else(LocalShell::default, LocalShell::at);
        environment.processes = Arc::new(shell.with_sandbox(sandbox.cloned()));
    }
    if let Some(env) = &run.env {
        let env = env.iter().map(|(name, value)| (name.into(), value.into()));
        environment.vars = env.collect();
    }
    environment
}
