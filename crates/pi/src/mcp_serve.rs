//! `pi mcp serve`: offers pi as an MCP server on stdin and stdout.
//!
//! A client starts sessions and continues them with tools. Requests are handled at the same time; the sessions stay open
//! until the client disconnects.

mod messages;
mod sessions;
mod tools;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_env::Env;
use pi_mcp::JsonRpcMessage;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::output::{Exit, Failure};
use crate::own_stdio;
use crate::signals::Signals;
use crate::startup::working_directory;
use messages::{Fault, METHOD_NOT_FOUND, PARSE_ERROR, UNSUPPORTED_VERSION};
use sessions::ServedSessions;

/// Limit for a message.
const MAX_MESSAGE_BYTES: usize = 32 << 20;

/// Messages that wait to be written; a client that does not read stops the calls.
const OUTPUT_QUEUE: usize = 64;

/// The version without a handshake: every request states it.
const MODERN_VERSION: &str = "2026-07-28";

const INSTRUCTIONS: &str = "The tool `pi` lets a coding agent work on a task in a directory. It returns a session ID; `pi-reply` continues that session.";

/// Versions of the protocol with a handshake, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Whether words are `mcp serve` and not a request for help.
pub(crate) fn is_command(words: &[OsString]) -> bool {
    let is_help = |word: &OsString| word == "--help" || word == "-h";
    words.get(1).is_some_and(|word| word == "serve") && !words.iter().any(is_help)
}

/// Serves the client until it closes stdin or a signal arrives. `words` follow `mcp serve`.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    if !words.is_empty() {
        return Failure::new("pi mcp serve takes no arguments").report();
    }
    own_stdio::reserve_stdout();
    own_stdio::reserve_stdin();
    let started = Signals::listen()
        .map_err(|error| Failure::new(format!("cannot install signal handlers: {error}")));
    let started = started.and_then(|signals| Ok((signals, working_directory()?)));
    let started = started.and_then(|(signals, cwd)| Ok((signals, ServedSessions::new(cwd, env)?)));
    let (mut signals, sessions) = match started {
        Ok(started) => started,
        Err(failure) => return failure.report(),
    };
    let sessions = Arc::new(sessions);
    let serving = serve(Arc::clone(&sessions));
    let ended = signals.guard(serving, async {}).await;
    sessions.shut_down().await;
    match ended {
        Ok(Ok(())) => Exit::Success,
        Ok(Err(error)) => Failure::new(format!("cannot read from stdin: {error}")).report(),
        Err(signal) => signal.exit(),
    }
}

async fn serve(sessions: Arc<ServedSessions>) -> io::Result<()> {
    let (output, mut lines) = mpsc::channel::<Value>(OUTPUT_QUEUE);
    let writing = tokio::spawn(async move {
        let mut stdout = own_stdio::async_stdout();
        while let Some(message) = lines.recv().await {
            let line = format!("{message}\n");
            let written = stdout.write_all(line.as_bytes()).await;
            if written.is_err() || stdout.flush().await.is_err() {
                return;
            }
        }
    });
    let server = Arc::new(Server {
        sessions,
        output,
        running: Mutex::default(),
        tasks: TaskTracker::new(),
    });
    let mut input = BufReader::new(own_stdio::async_stdin());
    let mut ended = Ok(());
    loop {
        match read_line(&mut input).await {
            Ok(Some(line)) => server.receive(&line).await,
            Ok(None) => break,
            Err(error) => {
                ended = Err(error);
                break;
            }
        }
    }
    server.end().await;
    drop(server);
    writing.await.ok();
    ended
}

/// Reads a line; a line that is too long is an error because its end cannot be trusted.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(available.len());
        line.extend(available.iter().take(length));
        input.consume(length + usize::from(end.is_some()));
        if line.len() > MAX_MESSAGE_BYTES {
            return Err(io::Error::other("a message is too long"));
        }
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

struct Server {
    sessions: Arc<ServedSessions>,
    output: mpsc::Sender<Value>,
    /// Requests in progress, by the JSON of their IDs.
    running: Mutex<HashMap<String, CancellationToken>>,
    tasks: TaskTracker,
}

impl Server {
    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, message: Value) {
        // The client may be gone.
        self.output.send(message).await.ok();
    }

    async fn receive(self: &Arc<Self>, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let message = serde_json::from_slice(line).ok();
        match message.and_then(JsonRpcMessage::parse) {
            Some(JsonRpcMessage::Request { id, method, params }) => {
                self.start(id, method, params);
            }
            Some(JsonRpcMessage::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId")
                    && let Some(running) = self.running().get(&id.to_string())
                {
                    running.cancel();
                }
            }
            // The server asks nothing.
            Some(JsonRpcMessage::Response { .. }) => {}
            None => {
                let fault = Fault::new(PARSE_ERROR, "not a message of JSON-RPC 2.0");
                self.send(fault.message(&Value::Null)).await;
            }
        }
    }

    fn start(self: &Arc<Self>, id: Value, method: String, params: Value) {
        let cancel = CancellationToken::new();
        self.running().insert(id.to_string(), cancel.clone());
        let server = Arc::clone(self);
        self.tasks.spawn(async move {
            let answer = match stated_version(&params) {
                None => Box::pin(server.answer(&method, &params, &cancel)).await,
                Some(MODERN_VERSION) => {
                    let answer = Box::pin(server.answer(&method, &params, &cancel)).await;
                    answer.map(completed)
                }
                Some(version) => Err(unsupported(version)),
            };
            server.running().remove(&id.to_string());
            // A client does not expect an answer to what it canceled.
            if !cancel.is_cancelled() {
                server.send(messages::answer(&id, answer)).await;
            }
        });
    }

    async fn answer(
        &self,
        method: &str,
        params: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Fault> {
        match method {
            "initialize" => Ok(initialized(params)),
            "server/discover" => Ok(discovered()),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools::declarations()})),
            "tools/call" => {
                let progress = self.progress(params);
                let called = tools::call(&self.sessions, params, progress, cancel);
                Box::pin(called).await
            }
            "resources/list" => Ok(self.sessions.resources()),
            "resources/templates/list" => Ok(json!({"resourceTemplates": [{
                "uriTemplate": "pi://session/{id}",
                "name": "session",
                "description": "The entries of a session, one JSON object per line",
                "mimeType": "application/jsonl",
            }]})),
            "resources/read" => self.sessions.read_resource(params).await,
            other => Err(Fault::new(
                METHOD_NOT_FOUND,
                format!("unknown method: {other}"),
            )),
        }
    }

    /// Returns what reports the steps of a call, if the client wants to know them.
    fn progress(&self, params: &Value) -> Option<tools::Progress> {
        let token = params.get("_meta")?.get("progressToken")?.clone();
        Some(tools::Progress::new(token, self.output.clone()))
    }

    async fn end(&self) {
        for running in self.running().values() {
            running.cancel();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn initialized(params: &Value) -> Value {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let mut versions = VERSIONS.into_iter();
    let version = versions.find(|version| Some(*version) == requested);
    let [latest, ..] = VERSIONS;
    json!({
        "protocolVersion": version.unwrap_or(latest),
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "pi", "title": "pi", "version": pi_env::VERSION},
        "instructions": INSTRUCTIONS,
    })
}

fn discovered() -> Value {
    json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": {"tools": {}, "resources": {}},
        "instructions": INSTRUCTIONS,
    })
}

/// Returns the version that a request states, if there was no handshake.
fn stated_version(params: &Value) -> Option<&str> {
    let version = params
        .get("_meta")?
        .get("io.modelcontextprotocol/protocolVersion");
    version?.as_str()
}

fn unsupported(version: &str) -> Fault {
    let versions: Vec<_> = std::iter::once(MODERN_VERSION).chain(VERSIONS).collect();
    let data = json!({"supported": versions, "requested": version});
    let message = format!("version {version} of the protocol is not supported");
    Fault::new(UNSUPPORTED_VERSION, message).with_data(data)
}

/// Adds what results without a handshake state.
fn completed(mut result: Value) -> Value {
    if let Value::Object(result) = &mut result {
        let server = json!({"name": "pi", "version": pi_env::VERSION});
        result.insert("resultType".to_owned(), "complete".into());
        result.insert("ttlMs".to_owned(), 0.into());
        result.insert("cacheScope".to_owned(), "private".into());
        let meta = json!({"io.modelcontextprotocol/serverInfo": server});
        result.insert("_meta".to_owned(), meta);
    }
    result
}
