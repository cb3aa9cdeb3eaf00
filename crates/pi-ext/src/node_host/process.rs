//! Runs one `node` process on a dedicated thread, from spawn to exit.

mod frames;

use std::collections::{HashMap, VecDeque};
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::NodeHostError;
use super::frame::{self, FromNode, ToNode};
use super::module_server::ModuleServer;
use super::output::{OutputLine, forward_frames, forward_text};
use super::spawn::{kill_children, spawn};
use super::terminal_service::TerminalService;
use crate::child_guard::ChildUse;
use crate::engine::EngineOptions;
use crate::error::EngineError;
use crate::host::{ConsoleLevel, ExtensionFault, FaultKind, HostError};

/// How long Node may take to become ready.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long Node may leave a ping unanswered while calls are pending. Node cannot be interrupted,
/// and an extension may block on a child process, so the limit is higher than on the embedded engine.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_mins(1);

/// Interval between pings while calls are pending.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// How long Node may take to exit after its stdin is closed.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Capacity of the queue of unprocessed lines. Node blocks when it is full.
const LINE_QUEUE: usize = 64;

/// Number of stderr lines kept for the exit message.
const STDERR_TAIL: usize = 20;

pub(crate) type NodeCallResult = Result<Value, EngineError>;

/// A call of an exported function.
#[derive(Debug)]
pub(super) struct NodeCall {
    pub(super) id: u64,
    pub(super) module: String,
    pub(super) export: String,
    pub(super) arguments: Vec<Value>,
    pub(super) extension: Option<String>,
    pub(super) reply: oneshot::Sender<NodeCallResult>,
}

/// Runs Node until it is no longer needed or exits; in the latter case sets `failure`.
pub(super) fn run(
    options: &EngineOptions,
    mut calls: mpsc::UnboundedReceiver<NodeCall>,
    killer: &CancellationToken,
    failure: &OnceLock<NodeHostError>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(NodeProcess::run(options, &mut calls, killer, failure)),
        Err(error) => Err(NodeHostError::Start(error.to_string())),
    };
    if let Err(error) = outcome {
        // Set once: this thread is the only writer.
        drop(failure.set(error));
    }
    // Dropped after `failure` is set, since callers still in the queue read it.
    drop(calls);
}

struct NodeProcess<'a> {
    options: &'a EngineOptions,
    stdin: ChildStdin,
    module_server: ModuleServer,
    terminal_service: TerminalService,
    calls: HashMap<u64, oneshot::Sender<NodeCallResult>>,
    requests: JoinSet<(u64, Result<Value, HostError>)>,
    in_flight: HashMap<u64, AbortHandle>,
    /// Time of the unanswered ping, if any.
    pinged_at: Option<Instant>,
    stderr_tail: VecDeque<String>,
}

/// Why the event loop ended.
enum ExitReason {
    /// The handle was dropped.
    NotNeeded,
    /// Node closed its output.
    Closed,
    Failed(NodeHostError),
}

impl<'a> NodeProcess<'a> {
    async fn run(
        options: &'a EngineOptions,
        calls: &mut mpsc::UnboundedReceiver<NodeCall>,
        killer: &CancellationToken,
        failure: &OnceLock<NodeHostError>,
    ) -> Result<(), NodeHostError> {
        let supervisor = &options.child_supervisor;
        supervisor.prepare();
        let mut child = spawn(options)?;
        let _guard = supervisor.supervise(child.id(), ChildUse::Background);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(NodeHostError::Start("its stdio is not piped".to_owned()));
        };
        let (lines, receiver) = mpsc::channel(LINE_QUEUE);
        let mut readers = JoinSet::new();
        readers.spawn(forward_frames(stdout, lines.clone()));
        readers.spawn(forward_text(stderr, lines));
        let toolkit = options.tui_toolkit.as_ref();
        let mut process = Self {
            options,
            stdin,
            module_server: ModuleServer::new(options),
            terminal_service: TerminalService::new(toolkit.map(|toolkit| Arc::clone(&toolkit.0))),
            calls: HashMap::new(),
            requests: JoinSet::new(),
            in_flight: HashMap::new(),
            pinged_at: None,
            stderr_tail: VecDeque::new(),
        };
        let reason = tokio::select! {
            reason = process.event_loop(calls, receiver) => reason,
            () = killer.cancelled() => ExitReason::Failed(NodeHostError::Blocked),
        };
        process.shut_down(child, reason, failure).await
    }

    /// Waits until Node is ready, then handles calls and frames until either side ends.
    async fn event_loop(
        &mut self,
        calls: &mut mpsc::UnboundedReceiver<NodeCall>,
        mut lines: mpsc::Receiver<OutputLine>,
    ) -> ExitReason {
        match tokio::time::timeout(STARTUP_TIMEOUT, self.wait_until_ready(&mut lines)).await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return reason,
            Err(_) => {
                let message = format!("not ready after {} s", STARTUP_TIMEOUT.as_secs());
                return ExitReason::Failed(NodeHostError::Start(message));
            }
        }
        let mut heartbeat = tokio::time::interval(HEARTBEAT_INTERVAL);
        loop {
            let step = tokio::select! {
                call = calls.recv() => match call {
                    Some(call) => self.invoke(call).await,
                    None => Err(ExitReason::NotNeeded),
                },
                line = lines.recv() => match line {
                    Some(line) => self.handle_line(line).await.map(drop),
                    None => Err(ExitReason::Closed),
                },
                Some(completed) = self.requests.join_next() => match completed {
                    Ok((id, result)) => {
                        self.in_flight.remove(&id);
                        self.send(&ToNode::response(id, result)).await
                    }
                    // Canceled by the script.
                    Err(_) => Ok(()),
                },
                _ = heartbeat.tick() => self.check_heartbeat().await,
            };
            if let Err(reason) = step {
                return reason;
            }
        }
    }

    async fn wait_until_ready(
        &mut self,
        lines: &mut mpsc::Receiver<OutputLine>,
    ) -> Result<(), ExitReason> {
        while let Some(line) = lines.recv().await {
            if self.handle_line(line).await? {
                return Ok(());
            }
        }
        Err(ExitReason::Closed)
    }

    async fn send(&mut self, frame: &ToNode<'_>) -> Result<(), ExitReason> {
        let mut line = serde_json::to_vec(frame)
            .map_err(|error| ExitReason::Failed(NodeHostError::Exited(error.to_string())))?;
        line.push(b'\n');
        self.stdin
            .write_all(&line)
            .await
            .map_err(|_closed| ExitReason::Closed)
    }

    async fn invoke(&mut self, call: NodeCall) -> Result<(), ExitReason> {
        let NodeCall {
            id,
            module,
            export,
            arguments,
            extension,
            reply,
        } = call;
        self.calls.retain(|_, reply| !reply.is_closed());
        self.calls.insert(id, reply);
        self.send(&ToNode::Invoke {
            id,
            module: &module,
            export: &export,
            arguments: &arguments,
            extension: extension.as_deref(),
        })
        .await
    }

    /// Pings Node while calls are pending. Fails if the last ping has not been answered in time.
    async fn check_heartbeat(&mut self) -> Result<(), ExitReason> {
        self.calls.retain(|_, reply| !reply.is_closed());
        match self.pinged_at {
            Some(pinged_at) if pinged_at.elapsed() >= HEARTBEAT_TIMEOUT => Err(ExitReason::Failed(
                NodeHostError::Unresponsive(HEARTBEAT_TIMEOUT),
            )),
            Some(_) => Ok(()),
            None if self.calls.is_empty() => Ok(()),
            None => {
                self.pinged_at = Some(Instant::now());
                self.send(&ToNode::Ping).await
            }
        }
    }

    /// Handles a line. Returns `true` if it reports that Node is ready.
    async fn handle_line(&mut self, line: OutputLine) -> Result<bool, ExitReason> {
        let line = match line {
            OutputLine::Frame(line) => line,
            OutputLine::TooLong => {
                let message = "it sent more data than a message may have".to_owned();
                return Err(ExitReason::Failed(NodeHostError::Exited(message)));
            }
            OutputLine::Text(line) => {
                self.print(None, ConsoleLevel::Error, line.clone());
                if self.stderr_tail.len() == STDERR_TAIL {
                    self.stderr_tail.pop_front();
                }
                self.stderr_tail.push_back(line);
                return Ok(false);
            }
        };
        let (text, frame) = frame::parse_line(&line);
        if !text.is_empty() {
            self.print(None, ConsoleLevel::Info, text.to_owned());
        }
        // Any output counts as a heartbeat.
        self.pinged_at = None;
        match frame {
            Some(FromNode::Ready) => return Ok(true),
            Some(frame) => self.handle_frame(frame).await?,
            None => {}
        }
        Ok(false)
    }

    /// Shuts Node down. If it was still needed, reports a fault and fails all pending calls.
    async fn shut_down(
        self,
        mut child: Child,
        reason: ExitReason,
        failure: &OnceLock<NodeHostError>,
    ) -> Result<(), NodeHostError> {
        // The script exits at the end of its stdin.
        drop(self.stdin);
        let status = match reason {
            ExitReason::Failed(_) => None,
            ExitReason::NotNeeded | ExitReason::Closed => {
                let waited = tokio::time::timeout(SHUTDOWN_GRACE, child.wait()).await;
                waited.ok().and_then(Result::ok)
            }
        };
        if status.is_none() {
            kill_children(&child);
            if let Err(error) = child.kill().await {
                tracing::debug!(%error, "cannot kill Node");
            }
        }
        let error = match reason {
            ExitReason::NotNeeded => return Ok(()),
            ExitReason::Failed(error) => error,
            ExitReason::Closed => NodeHostError::Exited(exit_message(status, &self.stderr_tail)),
        };
        if matches!(
            error,
            NodeHostError::Exited(_) | NodeHostError::Unresponsive(_) | NodeHostError::Blocked
        ) {
            self.options.host.0.fault(ExtensionFault {
                extension: None,
                kind: FaultKind::NodeExited,
                message: error.to_string(),
                stack: None,
            });
        }
        drop(failure.set(error.clone()));
        for (_, reply) in self.calls {
            drop(reply.send(Err(EngineError::Node(error.clone()))));
        }
        Err(error)
    }
}

/// Describes in one line why Node exited.
fn exit_message(status: Option<ExitStatus>, stderr_tail: &VecDeque<String>) -> String {
    let status = status.map_or_else(|| "it closed its output".to_owned(), |it| it.to_string());
    let error_line = stderr_tail.iter().rev().find(|line| line.contains("rror"));
    match error_line {
        Some(line) => format!("{status}: {}", line.trim()),
        None => status,
    }
}
