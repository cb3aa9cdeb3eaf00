//! Serves a client until it disconnects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use parking_lot::{Mutex, MutexGuard};
use pi_host::{COMMAND_LINE_LIMIT, Host, LineFrame, LineReader, SessionOptions};
use pi_protocol::settings::AcpSettings;
use pi_protocol::{InvalidJsonRpc, JsonRpcError, JsonRpcMessage};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::connection::Connection;
use crate::error;
use crate::trust::AcpTrustPrompt;

/// Maximum number of open requests of a client. More are rejected: reading must not pause, or a cancellation would wait
/// behind them.
const OPEN_REQUESTS: usize = 1024;

/// Maximum number of messages in progress, responses to invalid ones included.
const MAX_WORK: usize = 4 * OPEN_REQUESTS;

/// How long to wait for the client to read the last messages.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Returns the options of a session in a directory; the error is shown to the user.
pub type SessionOptionsFactory = Box<dyn Fn(&Path) -> Result<SessionOptions, String> + Send + Sync>;

pub struct AcpOptions {
    pub host: Host,
    pub sessions: SessionOptionsFactory,
    /// The prompter that the host was created with.
    pub trust: AcpTrustPrompt,
    /// The value of `--session-dir`.
    pub session_dir: Option<String>,
    pub settings: AcpSettings,
    /// The working directory of the process.
    pub cwd: PathBuf,
    pub version: String,
    pub stop: CancellationToken,
}

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcpOutcome {
    /// The client closed its input.
    InputEnded,
    /// The client stopped reading.
    OutputClosed,
    /// [`AcpOptions::stop`] was canceled.
    Stopped,
}

/// Serves a client until it disconnects, then closes its sessions.
pub async fn serve(
    options: AcpOptions,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
) -> AcpOutcome {
    let (connection, output) = Connection::start(writer);
    let stop = options.stop.clone();
    let server = Server {
        agent: Agent::new(options, connection.clone()),
        connection,
        open: Mutex::default(),
    };
    let end = server.run(reader, &stop).await;
    // Runs are aborted before their questions to the client fail: they would continue with that answer.
    let failing = async { server.connection.close() };
    futures_util::future::join(server.agent.close(), failing).await;
    drop(server);
    if end != AcpOutcome::OutputClosed
        && tokio::time::timeout(FLUSH_TIMEOUT, output.finish())
            .await
            .is_err()
    {
        tracing::debug!("the client did not read the last messages in time");
    }
    end
}

struct Server {
    agent: Agent,
    connection: Connection,
    /// Open requests, by the JSON of their IDs.
    open: Mutex<HashMap<String, CancellationToken>>,
}

impl Server {
    async fn run(
        &self,
        reader: Box<dyn AsyncRead + Send + Unpin>,
        stop: &CancellationToken,
    ) -> AcpOutcome {
        let mut lines = LineReader::new(reader, COMMAND_LINE_LIMIT);
        let mut work: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        loop {
            // Work is polled first: each message is handled, until it has to wait, before the next one is read.
            tokio::select! {
                biased;
                () = stop.cancelled() => return AcpOutcome::Stopped,
                () = self.connection.closed() => return AcpOutcome::OutputClosed,
                Some(()) = work.next(), if !work.is_empty() => {}
                line = lines.next(), if work.len() < MAX_WORK => match line {
                    Ok(Some(line)) => work.extend(self.receive(line)),
                    Ok(None) => return AcpOutcome::InputEnded,
                    Err(error) => {
                        tracing::warn!(%error, "cannot read from the client");
                        return AcpOutcome::InputEnded;
                    }
                },
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.open.lock()
    }

    /// Handles a line; returns what has to be awaited.
    fn receive(&self, line: LineFrame) -> Option<BoxFuture<'_, ()>> {
        let message = match line {
            LineFrame::Line(line) if line.trim().is_empty() => return None,
            LineFrame::Line(line) => JsonRpcMessage::read(line.as_bytes()),
            LineFrame::TooLong => Err(Box::new(InvalidJsonRpc {
                id: Value::Null,
                error: JsonRpcError::invalid_request("the message is too long"),
            })),
        };
        match message {
            Ok(JsonRpcMessage::Request { id, method, params }) => {
                Some(self.start(id, method, params))
            }
            Ok(JsonRpcMessage::Notification { method, params }) => {
                if method == "$/cancel_request" {
                    self.cancel(&params);
                    return None;
                }
                Some(Box::pin(async move {
                    self.agent.notified(&method, &params).await;
                }))
            }
            Ok(JsonRpcMessage::Response { id, outcome }) => {
                self.connection.receive_response(&id, outcome);
                None
            }
            Err(invalid) => Some(Box::pin(self.connection.send(invalid.into_response()))),
        }
    }

    fn cancel(&self, params: &Value) {
        let id = params.get("requestId").map(Value::to_string);
        if let Some(request) = id.and_then(|id| self.open().get(&id).cloned()) {
            request.cancel();
        }
    }

    fn start(&self, id: Value, method: String, params: Value) -> BoxFuture<'_, ()> {
        let key = id.to_string();
        let rejection = {
            let open = self.open();
            if open.contains_key(&key) {
                Some(JsonRpcError::invalid_request(
                    "a request with this ID is open",
                ))
            } else if open.len() >= OPEN_REQUESTS {
                Some(JsonRpcError::invalid_request("too many open requests"))
            } else {
                None
            }
        };
        if let Some(error) = rejection {
            return Box::pin(
                self.connection
                    .send(JsonRpcMessage::response(&id, Err(error))),
            );
        }
        let cancel = CancellationToken::new();
        self.open().insert(key, cancel.clone());
        Box::pin(self.answer(id, method, params, cancel))
    }

    async fn answer(&self, id: Value, method: String, params: Value, cancel: CancellationToken) {
        let session = params
            .get("sessionId")
            .filter(|_| method == "session/prompt");
        let canceled = session.map(|id| json!({ "sessionId": id }));
        let call = Box::pin(self.agent.call(&id, &method, params));
        let outcome = match cancel.run_until_cancelled(call).await {
            Some(outcome) => outcome,
            None => {
                if let Some(params) = canceled {
                    self.agent.cancel_prompt(&params).await;
                }
                Err(error::canceled())
            }
        };
        self.open().remove(&id.to_string());
        let (result, opened) = match outcome {
            Ok(reply) => (Ok(reply.result), reply.opened),
            Err(error) => (Err(error), None),
        };
        self.connection
            .send(JsonRpcMessage::response(&id, result))
            .await;
        if let Some((session, notice)) = opened {
            session.announce(notice).await;
        }
    }
}
