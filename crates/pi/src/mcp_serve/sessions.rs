//! The sessions that clients use.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_env::Env;
use pi_host::{
    AgentSession, ExtensionMode, Host, InputSource, Prompt, SessionHandle, SessionListener,
    SessionOptions,
};
use pi_protocol::{AgentEvent, AgentMessage, SessionEvent, StopReason};
use pi_session::listing::{self, MessageText};
use pi_session::sessions_root;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::messages::{Fault, INVALID_PARAMS, RESOURCE_NOT_FOUND};
use super::tools::Progress;
use crate::args::{Args, Problem};
use crate::extension_failures::PrintedFailures;
use crate::output::Failure;
use crate::startup::split_options;

const RESOURCE_PREFIX: &str = "pi://session/";

/// How to start a session.
#[derive(Debug, Default)]
pub(super) struct SessionStartArguments {
    pub(super) cwd: Option<PathBuf>,
    pub(super) model: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) tools: Option<Vec<String>>,
}

pub(super) struct ServedSessions {
    host: Host,
    cwd: PathBuf,
    env: Env,
}

impl ServedSessions {
    pub(super) fn new(cwd: PathBuf, env: Env) -> Result<Self, Failure> {
        let (options, _) = split_options(Args::parse(Vec::new()), &cwd, &env)?;
        let host = Host::new(options);
        Ok(Self { host, cwd, env })
    }

    pub(super) async fn shut_down(&self) {
        self.host.shutdown().await;
    }

    /// Returns the options of a session in a directory, as flags of the command line set them.
    fn options(
        &self,
        cwd: &Path,
        arguments: SessionStartArguments,
    ) -> Result<SessionOptions, String> {
        let mut words: Vec<OsString> = Vec::new();
        let tools = arguments.tools.map(|tools| tools.join(","));
        for (flag, value) in [
            ("--model", arguments.model),
            ("--thinking", arguments.thinking),
            ("--tools", tools),
        ] {
            if let Some(value) = value {
                words.extend([flag.into(), value.into()]);
            }
        }
        let args = Args::parse(words);
        if let Some(problem) = args.problems.first() {
            let (Problem::Error(message) | Problem::Warning(message)) = problem;
            return Err(message.clone());
        }
        let (_, mut options) =
            split_options(args, cwd, &self.env).map_err(|failure| failure.cause)?;
        options.extensions.ui = Arc::new(PrintedFailures(ExtensionMode::Print));
        Ok(options)
    }

    pub(super) async fn start(
        &self,
        arguments: SessionStartArguments,
    ) -> Result<SessionHandle, String> {
        let cwd = match &arguments.cwd {
            Some(directory) => self.cwd.join(directory),
            None => self.cwd.clone(),
        };
        if !cwd.is_dir() {
            return Err(format!("{} is not a directory", cwd.display()));
        }
        let options = self.options(&cwd, arguments)?;
        let opened = self.host.open(options).await;
        opened.map_err(|error| error.to_string())
    }

    /// Returns a session that is open, or opens it.
    pub(super) async fn find(&self, id: &str) -> Result<SessionHandle, String> {
        let options = self.options(&self.cwd, SessionStartArguments::default())?;
        let attached = self.host.attach(id, options).await;
        attached.map_err(|error| error.to_string())
    }

    /// Sends a prompt and waits for the end of its run.
    pub(super) async fn prompt(
        &self,
        handle: &SessionHandle,
        text: String,
        progress: Option<Progress>,
        cancel: &CancellationToken,
    ) -> Result<Value, String> {
        let session = handle.session();
        let steps = Arc::new(RunSteps {
            progress,
            changed: Mutex::default(),
        });
        let subscription = session.subscribe(Arc::clone(&steps) as _);
        let prompt = Prompt {
            expand: false,
            source: InputSource::Rpc,
            ..Prompt::text(text)
        };
        let sent = session.prompt(prompt).await;
        sent.map_err(|error| error.to_string())?;
        tokio::select! {
            () = session.wait_for_idle() => {}
            () = cancel.cancelled() => session.abort().await,
        }
        drop(subscription);
        let result = run_result(&session, &steps)?;
        let text = result.get("text").cloned().unwrap_or_default();
        Ok(json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": result,
        }))
    }

    /// Lists the stored sessions, newest first.
    pub(super) async fn list(&self, limit: usize) -> Result<Value, String> {
        let root = sessions_root(self.host.options().agent_dir.path());
        let listing = tokio::task::spawn_blocking(move || {
            listing::list_all(&root, MessageText::Skip, &mut |_| {}, &|| false)
        });
        let sessions = listing.await.map_err(|error| error.to_string())?;
        let sessions = sessions.unwrap_or_default();
        let sessions = sessions.iter().take(limit).map(|session| {
            json!({
                "sessionId": session.id,
                "cwd": session.cwd,
                "title": session.title(),
                "messages": session.message_count,
                "modifiedMs": session.modified_ms,
            })
        });
        let sessions: Vec<Value> = sessions.collect();
        let result = json!({ "sessions": sessions });
        Ok(json!({
            "content": [{"type": "text", "text": result.to_string()}],
            "structuredContent": result,
        }))
    }

    /// Returns the entries of a session as lines.
    pub(super) async fn entries(&self, id: &str) -> Result<String, String> {
        let handle = Box::pin(self.find(id)).await?;
        let session = handle.session();
        let read = session.history().entries_since(None);
        let read = read.map_err(|error| error.to_string())?;
        let mut text = String::new();
        for entry in &read.entries {
            let line = serde_json::to_string(&**entry).map_err(|error| error.to_string())?;
            text.push_str(&line);
            text.push('\n');
        }
        Ok(text)
    }

    /// Returns the open sessions as resources.
    pub(super) fn resources(&self) -> Value {
        let sessions = self.host.sessions().into_iter().map(|session| {
            let id = session.session_id();
            json!({
                "uri": format!("{RESOURCE_PREFIX}{id}"),
                "name": id,
                "mimeType": "application/jsonl",
            })
        });
        json!({"resources": sessions.collect::<Vec<_>>()})
    }

    pub(super) async fn read_resource(&self, params: &Value) -> Result<Value, Fault> {
        let uri = params.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| Fault::new(INVALID_PARAMS, "uri must be a string"))?;
        let unknown = || Fault::new(RESOURCE_NOT_FOUND, format!("no resource is named {uri}"));
        let id = uri.strip_prefix(RESOURCE_PREFIX).ok_or_else(unknown)?;
        let text = self.entries(id).await.map_err(|_problem| unknown())?;
        let contents = json!([{"uri": uri, "mimeType": "application/jsonl", "text": text}]);
        Ok(json!({ "contents": contents }))
    }
}

/// Returns the answer of a run, or why there is none.
fn run_result(session: &AgentSession, steps: &RunSteps) -> Result<Value, String> {
    let history = session.history();
    let messages = history.messages().map_err(|error| error.to_string())?;
    if let Some(AgentMessage::Assistant(last)) = messages.last().map(|last| &**last)
        && matches!(last.stop_reason, StopReason::Error | StopReason::Aborted)
    {
        let message = last.error_message.clone();
        return Err(message.unwrap_or_else(|| "the run was aborted".to_owned()));
    }
    let text = history
        .last_assistant_text()
        .map_err(|error| error.to_string())?;
    let stats = history.stats().map_err(|error| error.to_string())?;
    let mut usage = serde_json::to_value(stats.tokens).unwrap_or_default();
    usage["cost"] = json!(stats.cost);
    Ok(json!({
        "sessionId": stats.session_id,
        "text": text.unwrap_or_default(),
        "usage": usage,
        "changedFiles": steps.changed_files(),
    }))
}

/// Follows the tool calls of a run.
struct RunSteps {
    progress: Option<Progress>,
    changed: Mutex<BTreeSet<String>>,
}

impl RunSteps {
    fn changed_files(&self) -> Vec<String> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.iter().cloned().collect()
    }
}

impl SessionListener for RunSteps {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let SessionEvent::Agent(AgentEvent::ToolExecutionStart {
            tool_name, args, ..
        }) = event
        {
            let path = args.get("path").and_then(Value::as_str);
            if let Some(progress) = &self.progress {
                let subject = path.or_else(|| args.get("command").and_then(Value::as_str));
                let subject = subject
                    .and_then(|text| text.lines().next())
                    .unwrap_or_default();
                progress.report(format!("{tool_name} {subject}").trim_end());
            }
            if let (Some(path), "edit" | "write") = (path, tool_name.as_str()) {
                let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
                changed.insert(path.to_owned());
            }
        }
        std::future::ready(()).boxed()
    }
}
