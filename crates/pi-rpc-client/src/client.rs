//! Client: starts a pi process in RPC mode and sends commands to it.
//!
//! Commands are methods (`client/commands.rs`); responses are matched to commands by `id`. Every
//! other line is an event and is passed to all listeners in order, on the reader task. A listener
//! that blocks therefore stops reading, and with it the process.

mod commands;
mod model_commands;
mod supervisor;

pub use model_commands::RpcModelCommands;
use parking_lot::{Mutex, MutexGuard};
pub use supervisor::RpcSupervisor;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pi_lines::{LineFrame, LineReader, LineSink, LineWriter};
use pi_protocol::{Ack, Command, ExtensionUiResponse, ImageContent};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{self, Child, ChildStderr, ChildStdout};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use crate::response::RpcResponse;

/// Maximum length of a response line: `get_entries` sends a complete session.
const RESPONSE_LINE_LIMIT: usize = 2 * 1024 * 1024 * 1024;

/// Bytes of the process's standard error that are kept.
const STDERR_TAIL: usize = 64 * 1024;

/// Time a process may take to exit after its input was closed.
const EXIT_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct RpcClientOptions {
    pub program: PathBuf,
    /// Arguments before `--mode rpc`, for programs started through another program.
    pub leading_arguments: Vec<OsString>,
    pub arguments: Vec<OsString>,
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Working directory; the current one if absent.
    pub cwd: Option<PathBuf>,
    /// Environment variables added to those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Starts the process in a separate process group, so that Ctrl-C in the terminal of this process does not reach it.
    pub new_process_group: bool,
}

impl RpcClientOptions {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            leading_arguments: Vec::new(),
            arguments: Vec::new(),
            provider: None,
            model: None,
            cwd: None,
            environment: Vec::new(),
            new_process_group: false,
        }
    }

    fn command(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command
            .args(&self.leading_arguments)
            .args(["--mode", "rpc"]);
        for (flag, value) in [("--provider", &self.provider), ("--model", &self.model)] {
            if let Some(value) = value {
                command.args([flag, value]);
            }
        }
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        if self.new_process_group {
            command.process_group(0);
        }
        command
    }
}

/// Why a client's command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcClientError {
    #[error("cannot start {}: {source}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the pi process has exited{}", quoted(stderr))]
    Exited {
        /// The last output of the process on standard error.
        stderr: String,
    },
    #[error("{command}: {error}")]
    Rejected { command: String, error: String },
    #[error("invalid response: {0}")]
    InvalidResponse(#[from] serde_json::Error),
    #[error("the agent did not settle within {} s", .0.as_secs_f64())]
    Timeout(Duration),
}

fn quoted(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        stderr => format!("; stderr: {stderr}"),
    }
}

/// An event sent by the process.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcEvent(Value);

impl RpcEvent {
    /// Returns the event's type, such as `agent_settled`.
    pub fn kind(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or("")
    }

    pub fn json(&self) -> &Value {
        &self.0
    }

    pub fn into_json(self) -> Value {
        self.0
    }
}

type EventListener = dyn Fn(&RpcEvent) + Send + Sync;

/// A pi process in RPC mode. Dropping the client kills it.
pub struct RpcClient {
    shared: Arc<ClientInner>,
    process: tokio::sync::Mutex<ServerProcess>,
    _readers: JoinSet<()>,
}

struct ServerProcess {
    child: Child,
    /// Dropping it closes the input of the process.
    input: Option<LineWriter>,
}

struct ClientInner {
    input: LineSink,
    last_id: AtomicU64,
    state: Mutex<ClientState>,
    ended: Notify,
}

#[derive(Default)]
struct ClientState {
    pending: HashMap<String, oneshot::Sender<RpcResponse>>,
    listeners: Vec<(u64, Arc<EventListener>)>,
    stderr: String,
    is_ended: bool,
}

impl RpcClient {
    /// Starts the process. Commands can be sent immediately; they wait in its input until it reads
    /// them.
    pub fn start(options: &RpcClientOptions) -> Result<Self, RpcClientError> {
        let failed = |source| RpcClientError::Start {
            program: options.program.clone(),
            source,
        };
        let mut child = options.command().spawn().map_err(failed)?;
        let missing = || failed(io::Error::other("its standard streams are not piped"));
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let writer = LineWriter::start(stdin);
        let shared = Arc::new(ClientInner {
            input: writer.sink(),
            last_id: AtomicU64::new(0),
            state: Mutex::default(),
            ended: Notify::new(),
        });
        let mut readers = JoinSet::new();
        readers.spawn(capture_stderr(Arc::clone(&shared), stderr));
        readers.spawn(read_records(Arc::clone(&shared), stdout));
        Ok(Self {
            shared,
            process: tokio::sync::Mutex::new(ServerProcess {
                child,
                input: Some(writer),
            }),
            _readers: readers,
        })
    }

    /// Stops the process: closes its input, and kills it if it does not exit in time.
    pub async fn stop(&self) -> io::Result<()> {
        let mut process = self.process.lock().await;
        process.input = None;
        match tokio::time::timeout(EXIT_GRACE, process.child.wait()).await {
            Ok(status) => status.map(drop),
            Err(_late) => process.child.kill().await,
        }
    }

    /// Listens to events until the subscription is dropped.
    #[must_use = "dropping the subscription ends it"]
    pub fn subscribe(
        &self,
        listener: impl Fn(&RpcEvent) + Send + Sync + 'static,
    ) -> RpcSubscription {
        let id = self.shared.next_id();
        self.shared.state().listeners.push((id, Arc::new(listener)));
        RpcSubscription {
            id,
            shared: Arc::clone(&self.shared),
        }
    }

    /// Returns the last output of the process on standard error.
    pub fn stderr(&self) -> String {
        self.shared.state().stderr.clone()
    }

    /// Sends a command and waits for the data of its response.
    pub async fn request(&self, command: &Command) -> Result<Value, RpcClientError> {
        let mut object = serde_json::to_value(command)?;
        let id = format!("req_{}", self.shared.next_id());
        if let Some(object) = object.as_object_mut() {
            object.insert("id".to_owned(), id.clone().into());
        }
        let response = self.shared.register_pending(&id)?;
        let sent = self
            .shared
            .input
            .send(pi_protocol::json::to_string(&object)?)
            .await;
        if sent.is_err() {
            self.shared.state().pending.remove(&id);
            return Err(self.shared.exited_error());
        }
        let response = response.await.map_err(|_gone| self.shared.exited_error())?;
        if response.success {
            return Ok(response.data);
        }
        Err(RpcClientError::Rejected {
            command: response.command.unwrap_or_default(),
            error: response.error.unwrap_or_default(),
        })
    }

    /// Replies to a dialog of an extension.
    pub async fn reply(&self, response: &ExtensionUiResponse) -> Result<(), RpcClientError> {
        send_line(&self.shared, pi_protocol::json::to_string(response)?).await
    }

    /// Waits until the agent settles, counting from this call: call it before the command that
    /// starts the run and await it afterwards. [`RpcClient::prompt_and_wait`] does both.
    pub fn wait_for_idle(
        &self,
        limit: Duration,
    ) -> impl Future<Output = Result<(), RpcClientError>> + Send + use<> {
        let events = self.collect_events(limit);
        async { events.await.map(drop) }
    }

    /// Collects events, starting with this call, until the agent settles.
    pub fn collect_events(
        &self,
        limit: Duration,
    ) -> impl Future<Output = Result<Vec<RpcEvent>, RpcClientError>> + Send + use<> {
        EventCollector::start(self).finish(limit)
    }

    /// Sends a message and collects events until the agent settles.
    pub async fn prompt_and_wait(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
        limit: Duration,
    ) -> Result<Vec<RpcEvent>, RpcClientError> {
        let events = EventCollector::start(self);
        if self.prompt(message, images).await? == Ack::Handled {
            // No run starts, so the agent does not settle.
            return Ok(Vec::new());
        }
        events.finish(limit).await
    }
}

/// Collects events until the agent settles.
struct EventCollector {
    events: Arc<Mutex<Vec<RpcEvent>>>,
    settled: Arc<Notify>,
    subscription: RpcSubscription,
}

impl EventCollector {
    fn start(client: &RpcClient) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let settled = Arc::new(Notify::new());
        let subscription = {
            let (events, settled) = (Arc::clone(&events), Arc::clone(&settled));
            client.subscribe(move |event| {
                events.lock().push(event.clone());
                if event.kind() == "agent_settled" {
                    settled.notify_one();
                }
            })
        };
        Self {
            events,
            settled,
            subscription,
        }
    }

    async fn finish(self, limit: Duration) -> Result<Vec<RpcEvent>, RpcClientError> {
        let shared = &self.subscription.shared;
        let ended = shared.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        if shared.state().is_ended {
            return Err(shared.exited_error());
        }
        let waiting = async {
            tokio::select! {
                biased;
                () = self.settled.notified() => Ok(()),
                () = ended => Err(shared.exited_error()),
            }
        };
        tokio::time::timeout(limit, waiting)
            .await
            .map_err(|_late| RpcClientError::Timeout(limit))??;
        Ok(std::mem::take(&mut *self.events.lock()))
    }
}

/// Unsubscribes the listener when dropped.
pub struct RpcSubscription {
    id: u64,
    shared: Arc<ClientInner>,
}

impl Drop for RpcSubscription {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.listeners.retain(|(id, _)| *id != self.id);
    }
}

impl ClientInner {
    fn state(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock()
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn register_pending(&self, id: &str) -> Result<oneshot::Receiver<RpcResponse>, RpcClientError> {
        let mut state = self.state();
        if state.is_ended {
            drop(state);
            return Err(self.exited_error());
        }
        let (sender, receiver) = oneshot::channel();
        state.pending.insert(id.to_owned(), sender);
        Ok(receiver)
    }

    fn exited_error(&self) -> RpcClientError {
        RpcClientError::Exited {
            stderr: self.state().stderr.clone(),
        }
    }

    /// Dispatches a line: responses to their command, everything else to the listeners.
    fn handle_line(&self, line: &str) {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            tracing::warn!("process sent a line that is not JSON");
            return;
        };
        let is_response = record.get("type").and_then(Value::as_str) == Some("response");
        let id = record.get("id").and_then(Value::as_str);
        if let (true, Some(id)) = (is_response, id) {
            let waiting = self.state().pending.remove(id);
            if let Some(waiting) = waiting {
                match serde_json::from_value(record) {
                    // The caller may have stopped waiting.
                    Ok(response) => drop(waiting.send(response)),
                    Err(error) => tracing::warn!(%error, "invalid response"),
                }
                return;
            }
        }
        let event = RpcEvent(record);
        let listeners = self.state().listeners.clone();
        for (_, listener) in listeners {
            listener(&event);
        }
    }

    fn mark_exited(&self) {
        let mut state = self.state();
        state.is_ended = true;
        state.pending.clear();
        drop(state);
        self.ended.notify_waiters();
    }
}

async fn send_line(shared: &ClientInner, line: String) -> Result<(), RpcClientError> {
    let sent = shared.input.send(line).await;
    sent.map_err(|_closed| shared.exited_error())
}

async fn read_records(shared: Arc<ClientInner>, stdout: ChildStdout) {
    let mut lines = LineReader::new(stdout, RESPONSE_LINE_LIMIT);
    loop {
        match lines.next().await {
            Ok(Some(LineFrame::Line(line))) => shared.handle_line(&line),
            Ok(Some(LineFrame::TooLong)) => tracing::warn!("process sent a line that is too long"),
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "cannot read from process");
                break;
            }
        }
    }
    shared.mark_exited();
}

async fn capture_stderr(shared: Arc<ClientInner>, stderr: ChildStderr) {
    if let Err(error) = append_tail(&shared, stderr).await {
        tracing::warn!(%error, "cannot read standard error of process");
    }
}

async fn append_tail(shared: &ClientInner, mut stderr: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut chunk = [0; 4096];
    loop {
        let read = stderr.read(&mut chunk).await?;
        if read == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(chunk.get(..read).unwrap_or_default());
        let mut state = shared.state();
        state.stderr.push_str(&text);
        let excess = state.stderr.len().saturating_sub(STDERR_TAIL);
        if excess > 0 {
            let cut = state.stderr.ceil_char_boundary(excess);
            state.stderr.drain(..cut);
        }
    }
}
