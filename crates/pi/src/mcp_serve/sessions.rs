//! The sessions that clients use.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::PromptTemplate;
use pi_env::Env;
use pi_host::{
    AgentSession, ExtensionMode, Host, InputSource, Prompt, SessionHandle, SessionListener,
    SessionOptions, StartNotification, Workspace,
};
use pi_protocol::{
    AgentEvent, AgentMessage, ClientHello, Command, JsonRpcError, SessionEvent, StopReason,
};
use pi_session::listing::{self, MessageText};
use pi_session::sessions_root;
use serde_json::{Value, json};

use super::session_questions::{self, ClientForms, NoForms};
use super::suspended_calls::SuspendedCalls;
use super::tools::{CallContext, Progress};
use crate::args::{Args, Problem};
use crate::extension_failures::PrintedFailures;
use crate::output::Failure;
use crate::startup::split_options;

/// The error of JSON-RPC for a resource that does not exist.
const RESOURCE_NOT_FOUND: i64 = -32002;

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
    /// Options of all sessions.
    words: Vec<OsString>,
    suspended_calls: SuspendedCalls,
}

impl ServedSessions {
    pub(super) fn new(words: Vec<OsString>, cwd: PathBuf, env: Env) -> Result<Self, Failure> {
        let (options, _) = split_options(Args::parse(words.clone()), &cwd, &env)?;
        Ok(Self::with_host(Host::new(options), cwd, env, words))
    }

    pub(super) fn with_host(host: Host, cwd: PathBuf, env: Env, words: Vec<OsString>) -> Self {
        Self {
            host,
            cwd,
            env,
            words,
            suspended_calls: SuspendedCalls::default(),
        }
    }

    /// Returns the calls of clients without a handshake that wait for their user.
    pub(super) fn suspended_calls(&self) -> &SuspendedCalls {
        &self.suspended_calls
    }

    pub(super) async fn shut_down(&self) {
        self.suspended_calls.close().await;
        self.host.shutdown().await;
    }

    /// Returns the options of a session in a directory, as flags of the command line set them.
    fn options(
        &self,
        cwd: &Path,
        arguments: SessionStartArguments,
    ) -> Result<SessionOptions, String> {
        let mut words = self.words.clone();
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

    /// Returns the prompt templates of the server's directory.
    pub(super) async fn templates(&self) -> Result<Vec<PromptTemplate>, JsonRpcError> {
        let options = self.options(&self.cwd, SessionStartArguments::default());
        let options = options.map_err(JsonRpcError::internal)?;
        let options = options.workspace_options();
        let workspace = Box::pin(Workspace::load(&self.host, &options, &self.cwd)).await;
        Ok(workspace.resources.prompt_templates.clone())
    }

    pub(super) async fn start(
        &self,
        arguments: SessionStartArguments,
        shows_forms: bool,
    ) -> Result<SessionHandle, String> {
        let cwd = match &arguments.cwd {
            Some(directory) => self.cwd.join(directory),
            None => self.cwd.clone(),
        };
        if !cwd.is_dir() {
            return Err(format!("{} is not a directory", cwd.display()));
        }
        let mut options = self.options(&cwd, arguments)?;
        prepare_for_call(&mut options, shows_forms);
        let opened = self.host.open(options).await;
        opened.map_err(|error| error.to_string())
    }

    /// Returns a session that is open, or opens it, for [`ServedSessions::prompt`].
    pub(super) async fn resume(
        &self,
        id: &str,
        shows_forms: bool,
    ) -> Result<SessionHandle, String> {
        let mut options = self.options(&self.cwd, SessionStartArguments::default())?;
        prepare_for_call(&mut options, shows_forms);
        let attached = self.host.attach(id, options).await;
        attached.map_err(|error| error.to_string())
    }

    /// Returns a session that is open, or opens it, to read it.
    async fn find(&self, id: &str) -> Result<SessionHandle, String> {
        let options = self.options(&self.cwd, SessionStartArguments::default())?;
        let attached = self.host.attach(id, options).await;
        attached.map_err(|error| error.to_string())
    }

    /// Sends a prompt and waits for the end of its run. Meanwhile the user of the client answers what the session asks.
    pub(super) async fn prompt(
        &self,
        handle: &SessionHandle,
        text: String,
        context: &CallContext,
    ) -> Result<Value, String> {
        let session = handle.session();
        let steps = Arc::new(RunSteps {
            progress: Arc::clone(&context.progress),
            changed: Mutex::default(),
        });
        let subscription = session.subscribe(Arc::clone(&steps) as _);
        let prompt = Prompt {
            expand: false,
            source: InputSource::Rpc,
            ..Prompt::text(text)
        };
        let running = async {
            begin(handle, context).await;
            let sent = session.prompt(prompt).await;
            sent.map_err(|error| error.to_string())?;
            session.wait_for_idle().await;
            Ok::<_, String>(())
        };
        let asking = async {
            match &context.asker {
                Some(asker) => session_questions::ask_user(&session, &**asker).await,
                // A session of other clients is theirs to answer.
                None if handle.client_ui().is_some() => std::future::pending().await,
                None => session_questions::ask_user(&session, &NoForms).await,
            }
        };
        tokio::select! {
            ran = running => ran?,
            never = asking => match never {},
            () = context.cancel.cancelled() => {
                // The abort comes first: a run whose question is dismissed would go on.
                session.abort().await;
                session_questions::dismiss(&session).await;
            }
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

    pub(super) async fn read_resource(&self, params: &Value) -> Result<Value, JsonRpcError> {
        let uri = params.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| {
            JsonRpcError::new(JsonRpcError::INVALID_PARAMS, "uri must be a string")
        })?;
        let unknown =
            || JsonRpcError::new(RESOURCE_NOT_FOUND, format!("no resource is named {uri}"));
        let id = uri.strip_prefix(RESOURCE_PREFIX).ok_or_else(unknown)?;
        let text = self.entries(id).await.map_err(|_problem| unknown())?;
        let contents = json!([{"uri": uri, "mimeType": "application/jsonl", "text": text}]);
        Ok(json!({ "contents": contents }))
    }
}

/// Lets extensions ask the user of the client, if it shows forms.
fn prepare_for_call(options: &mut SessionOptions, shows_forms: bool) {
    if shows_forms {
        options.extensions.ui = Arc::new(ClientForms);
    }
    // The hooks may ask, which only a call can forward.
    options.session_start = StartNotification::Deferred;
}

/// Runs the hooks of the session's start, once.
async fn begin(handle: &SessionHandle, context: &CallContext) {
    if context.asker.is_some() {
        let hello = Command::Hello(ClientHello {
            elicitation: true,
            ..ClientHello::default()
        });
        handle.submit(hello).await.ok();
    }
    handle.runtime().notify_session_start().await;
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
    progress: Arc<Progress>,
    changed: Mutex<BTreeSet<String>>,
}

impl RunSteps {
    fn changed_files(&self) -> Vec<String> {
        let changed = self.changed.lock();
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
            let subject = path.or_else(|| args.get("command").and_then(Value::as_str));
            let subject = subject
                .and_then(|text| text.lines().next())
                .unwrap_or_default();
            let step = format!("{tool_name} {subject}");
            self.progress.report(step.trim_end());
            if let (Some(path), "edit" | "write") = (path, tool_name.as_str()) {
                let mut changed = self.changed.lock();
                changed.insert(path.to_owned());
            }
        }
        std::future::ready(()).boxed()
    }
}
