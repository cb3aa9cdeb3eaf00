//! The output to a client: notifications, responses, and requests that wait for the client's response.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Messages that wait to be written. Senders wait for room, so a run cannot get ahead of the client.
const QUEUED_MESSAGES: usize = 64;

/// Messages are written together up to this size.
const WRITE_BYTES: usize = 128 * 1024;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connection(Arc<ConnectionState>);

struct ConnectionState {
    output: mpsc::Sender<Value>,
    /// Requests to the client that wait for a response, by ID.
    pending: Mutex<HashMap<u64, oneshot::Sender<Result<Value, JsonRpcError>>>>,
    next_id: AtomicU64,
    closed: CancellationToken,
}

/// Writes the messages; ends when all connections are dropped or the client stops reading.
pub(crate) struct OutputTask(tokio::task::JoinHandle<()>);

impl OutputTask {
    /// Waits until the last message is written.
    pub(crate) async fn finish(self) {
        self.0.await.ok();
    }
}

impl Connection {
    pub(crate) fn start(writer: Box<dyn AsyncWrite + Send + Unpin>) -> (Self, OutputTask) {
        let (output, messages) = mpsc::channel(QUEUED_MESSAGES);
        let closed = CancellationToken::new();
        let task = tokio::spawn(write_messages(messages, writer, closed.clone()));
        let connection = Self(Arc::new(ConnectionState {
            output,
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            closed,
        }));
        (connection, OutputTask(task))
    }

    fn pending(
        &self,
    ) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, JsonRpcError>>>> {
        self.0.pending.lock()
    }

    /// Sends a message; waits while the queue is full. Dropped if the client is gone.
    pub(crate) async fn send(&self, message: Value) {
        let sending = self.0.output.send(message);
        let sent = self.0.closed.run_until_cancelled(sending).await;
        if !matches!(sent, Some(Ok(()))) {
            tracing::debug!("message dropped: the client is gone");
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(JsonRpcMessage::notification(method, Some(params)))
            .await;
    }

    /// Calls a method of the client. Dropping the future withdraws the request.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, JsonRpcError> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.pending().insert(id, sender);
        let mut open = OpenRequest {
            connection: self.clone(),
            id,
            is_answered: false,
        };
        self.send(JsonRpcMessage::request(id, method, Some(params)))
            .await;
        let answer = self.0.closed.run_until_cancelled(receiver).await;
        let answer = answer.and_then(Result::ok);
        open.is_answered = true;
        answer.unwrap_or_else(|| Err(JsonRpcError::internal("the client is gone")))
    }

    /// Passes a response to the request that waits for it; an unknown one is ignored.
    pub(crate) fn receive_response(&self, id: &Value, outcome: Result<Value, JsonRpcError>) {
        let waiting = id.as_u64().and_then(|id| self.pending().remove(&id));
        if let Some(waiting) = waiting {
            waiting.send(outcome).ok();
        }
    }

    /// Fails the requests that wait for the client, and drops what is sent from now on.
    pub(crate) fn close(&self) {
        self.0.closed.cancel();
    }

    /// Waits until the client stops reading.
    pub(crate) async fn closed(&self) {
        self.0.closed.cancelled().await;
    }
}

/// A request to the client; withdrawn when dropped without an answer.
struct OpenRequest {
    connection: Connection,
    id: u64,
    is_answered: bool,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.connection.pending().remove(&self.id);
        if !self.is_answered {
            let params = json!({ "requestId": self.id });
            let message = JsonRpcMessage::notification("$/cancel_request", Some(params));
            // A client that does not read cannot be notified.
            self.connection.0.output.try_send(message).ok();
        }
    }
}

async fn write_messages(
    mut messages: mpsc::Receiver<Value>,
    mut writer: Box<dyn AsyncWrite + Send + Unpin>,
    closed: CancellationToken,
) {
    let mut bytes = Vec::new();
    while let Some(message) = messages.recv().await {
        bytes.clear();
        bytes.shrink_to(WRITE_BYTES);
        push_line(&mut bytes, &message);
        while bytes.len() < WRITE_BYTES
            && let Ok(next) = messages.try_recv()
        {
            push_line(&mut bytes, &next);
        }
        if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
            break;
        }
    }
    closed.cancel();
}

fn push_line(bytes: &mut Vec<u8>, message: &Value) {
    let start = bytes.len();
    match serde_json::to_writer(&mut *bytes, message) {
        Ok(()) => bytes.push(b'\n'),
        Err(error) => {
            tracing::error!(%error, "cannot serialize a message");
            bytes.truncate(start);
        }
    }
}
