//! `pi mcp serve`: offers pi as an MCP server on stdin and stdout. `pi serve` offers the same on `/mcp`.
//!
//! A client starts sessions and continues them with tools. Requests are handled at the same time; the sessions stay open
//! until the client disconnects, or as long as those of `pi serve`.

mod client_connection;
mod prompts;
mod questions;
mod session_questions;
mod sessions;
mod suspended_calls;
mod tools;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_host::Host;
use pi_protocol::JsonRpcMessage;
use pi_serve::McpEndpoint;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::{Args, Problem};
use crate::output::{Exit, Failure};
use crate::own_stdio;
use crate::signals::Signals;
use crate::startup::working_directory;
use client_connection::ClientConnection;
use sessions::ServedSessions;

/// Limit for a message.
const MAX_MESSAGE_BYTES: usize = 32 << 20;

/// Messages that wait to be written; a client that does not read stops the calls.
const OUTPUT_QUEUE: usize = 64;

/// The version without a handshake: every request states it.
const MODERN_VERSION: &str = "2026-07-28";

/// Versions of the protocol with a handshake, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Whether words are `mcp serve` and not a request for help.
pub(crate) fn is_command(words: &[OsString]) -> bool {
    let is_help = |word: &OsString| word == "--help" || word == "-h";
    words.get(1).is_some_and(|word| word == "serve") && !words.iter().any(is_help)
}

/// Serves the client until it closes stdin or a signal arrives. `words` follow `mcp serve`.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    if let Err(failure) = check(&words) {
        return failure.report();
    }
    own_stdio::reserve_stdout();
    own_stdio::reserve_stdin();
    let started = Signals::listen()
        .map_err(|error| Failure::new(format!("cannot install signal handlers: {error}")));
    let started = started.and_then(|signals| Ok((signals, working_directory()?)));
    let started =
        started.and_then(|(signals, cwd)| Ok((signals, ServedSessions::new(words, cwd, env)?)));
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

/// Accepts only the flags of the sandbox: clients choose the rest for each session.
fn check(words: &[OsString]) -> Result<(), Failure> {
    let args = Args::parse(words.to_vec());
    if let Some(Problem::Error(message) | Problem::Warning(message)) = args.problems.first() {
        return Err(Failure::new(message.clone()));
    }
    let only_sandbox = Args {
        sandbox: args.sandbox.clone(),
        ..Args::default()
    };
    if args == only_sandbox {
        return Ok(());
    }
    Err(Failure::new(
        "pi mcp serve takes no arguments except for --sandbox and --no-network",
    ))
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
    let server = Arc::new(StdioServer {
        client: Arc::new(ClientConnection::new(sessions)),
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

struct StdioServer {
    client: Arc<ClientConnection>,
    output: mpsc::Sender<Value>,
    /// Requests in progress, by the JSON of their IDs.
    running: Mutex<HashMap<String, CancellationToken>>,
    tasks: TaskTracker,
}

impl StdioServer {
    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock()
    }

    async fn send(&self, message: Value) {
        // The client may be gone.
        self.output.send(message).await.ok();
    }

    async fn receive(self: &Arc<Self>, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match JsonRpcMessage::read(line) {
            Ok(JsonRpcMessage::Request { id, method, params }) => {
                self.start(id, method, params);
            }
            Ok(JsonRpcMessage::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId")
                    && let Some(running) = self.running().get(&id.to_string())
                {
                    running.cancel();
                }
            }
            Ok(JsonRpcMessage::Response { id, outcome }) => self.client.receive(&id, outcome),
            Err(invalid) => self.send(invalid.into_response()).await,
        }
    }

    fn start(self: &Arc<Self>, id: Value, method: String, params: Value) {
        let cancel = CancellationToken::new();
        self.running().insert(id.to_string(), cancel.clone());
        let server = Arc::clone(self);
        let (client, output) = (Arc::clone(&self.client), self.output.clone());
        self.tasks.spawn(async move {
            let key = id.to_string();
            client.respond(id, method, params, output, cancel).await;
            server.running().remove(&key);
        });
    }

    async fn end(&self) {
        for running in self.running().values() {
            running.cancel();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Returns the endpoint of `pi serve` for MCP clients. `words` are the options of all sessions.
pub(crate) fn endpoint(host: Host, cwd: PathBuf, env: Env, words: Vec<OsString>) -> McpEndpoint {
    let sessions = Arc::new(ServedSessions::with_host(host, cwd, env, words));
    McpEndpoint {
        modern_version: MODERN_VERSION,
        versions: &VERSIONS,
        connect: Box::new(move || Arc::new(ClientConnection::new(Arc::clone(&sessions)))),
    }
}
