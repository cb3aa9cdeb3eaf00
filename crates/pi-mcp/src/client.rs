//! One connection to a server: the handshake, requests with their timeouts, and what the server asks.

mod handshake;
mod lists;
mod modern;
mod questions;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::error::McpError;
use crate::transport::{Inbox, Transport};
pub(crate) use handshake::ServerInfo;
pub(crate) use lists::{ListKind, ListPage};
use modern::Envelope;
pub(crate) use modern::{METHOD_HEADER_NAMES, envelope_version};

/// How many replies may wait until the server reads them; further requests of the server are not answered.
const MAX_WAITING_REPLIES: usize = 256;

/// Receives what the server sends without being asked.
pub(crate) trait ClientObserver: Send + Sync {
    fn notified(&self, method: &str, params: &Value);

    /// The server has ended the connection.
    fn connection_lost(&self);

    /// Returns the answer to a request of the server; `None` if the request is not supported.
    fn requested(&self, method: &str, params: Value) -> Option<ServerRequestAnswer> {
        let _ = (method, params);
        None
    }
}

/// The answer to a request of the server. An [`McpError::Rpc`] is sent as it is.
pub(crate) type ServerRequestAnswer = BoxFuture<'static, Result<Value, McpError>>;

/// Reports the progress of a request.
pub(crate) type ProgressReporter = Arc<dyn Fn(&Map<String, Value>) + Send + Sync>;

/// How to make a request.
#[derive(Clone)]
pub(crate) struct RequestOptions {
    /// Without progress.
    pub(crate) timeout: Duration,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Option<ProgressReporter>,
}

impl RequestOptions {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            cancel: CancellationToken::new(),
            progress: None,
        }
    }
}

/// A connection to a server. Clones share it.
#[derive(Clone)]
pub(crate) struct Client(Arc<ClientState>);

struct ClientState {
    own: std::sync::Weak<Self>,
    transport: OnceLock<Box<dyn Transport>>,
    observer: Box<dyn ClientObserver>,
    /// What `roots/list` returns.
    roots: Value,
    pending: Mutex<HashMap<u64, PendingRequest>>,
    /// Requests of the server that wait for an answer, by the JSON of their IDs.
    asked: Mutex<HashMap<String, CancellationToken>>,
    next_id: AtomicU64,
    /// What every request carries; `None` if the connection started with a handshake.
    envelope: Mutex<Option<Envelope>>,
    /// Messages that have no caller and that the server has not read yet.
    waiting_replies: Arc<AtomicUsize>,
    is_closed: AtomicBool,
}

struct PendingRequest {
    answer: oneshot::Sender<Result<Value, McpError>>,
    progress: Option<ProgressReporter>,
    /// Notified when the timeout starts again.
    renewed: Arc<Notify>,
}

impl Client {
    /// Creates a client; `connect` starts the transport, which delivers to the inbox.
    pub(crate) fn start(
        cwd: &Path,
        observer: Box<dyn ClientObserver>,
        connect: impl FnOnce(std::sync::Weak<dyn Inbox>) -> Result<Box<dyn Transport>, McpError>,
    ) -> Result<Self, McpError> {
        let state = Arc::new_cyclic(|own| ClientState {
            own: own.clone(),
            transport: OnceLock::new(),
            observer,
            roots: roots(cwd),
            pending: Mutex::default(),
            asked: Mutex::default(),
            next_id: AtomicU64::new(1),
            envelope: Mutex::default(),
            waiting_replies: Arc::default(),
            is_closed: AtomicBool::new(false),
        });
        let weak = Arc::downgrade(&state);
        let transport = connect(weak)?;
        state.transport.get_or_init(|| transport);
        Ok(Self(state))
    }

    /// Returns whether two handles are the same connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn is_connected(&self) -> bool {
        !self.0.is_closed.load(Ordering::Acquire)
    }

    /// Returns the end of what a child process wrote to its standard error.
    pub(crate) fn error_output(&self) -> Option<String> {
        self.0.transport().error_output()
    }

    /// Sends a request and returns its result. Errors contain no credentials of the server, which may repeat them.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Option<Value>,
        options: RequestOptions,
    ) -> Result<Value, McpError> {
        let result = if self.0.has_envelope() {
            Box::pin(self.request_with_inputs(method, params, options)).await
        } else {
            self.exchange(method, params, options).await
        };
        result.map_err(|error| error.map_text(|text| self.0.transport().redact(text)))
    }

    async fn exchange(
        &self,
        method: &str,
        params: Option<Value>,
        options: RequestOptions,
    ) -> Result<Value, McpError> {
        if !self.is_connected() {
            return Err(McpError::Closed);
        }
        if options.cancel.is_cancelled() {
            return Err(McpError::Canceled);
        }
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let RequestOptions {
            timeout,
            cancel,
            progress,
        } = options;
        let mut params = match &progress {
            Some(_) => Some(with_meta(params, "progressToken", id.into())),
            None => params,
        };
        if method != "initialize"
            && let Some(envelope) = &*self.0.envelope()
        {
            params = Some(envelope.wrap(params));
        }
        let (sender, mut answer) = oneshot::channel();
        let renewed = Arc::new(Notify::new());
        let entry = PendingRequest {
            answer: sender,
            progress,
            renewed: Arc::clone(&renewed),
        };
        self.0.pending().insert(id, entry);
        // The connection may have been lost before the entry existed.
        if !self.is_connected() {
            self.0.answer(id, Err(McpError::Closed));
        }
        self.0
            .send_request(id, JsonRpcMessage::request(id, method, params));
        let interruption = loop {
            tokio::select! {
                // What has arrived wins over the timer.
                biased;
                result = &mut answer => return result.unwrap_or(Err(McpError::Closed)),
                () = renewed.notified() => {}
                () = cancel.cancelled() => break McpError::Canceled,
                () = tokio::time::sleep(timeout) => {
                    // While the server waits for the user, it does not respond.
                    if !self.0.is_asked() {
                        break McpError::TimedOut(timeout);
                    }
                }
            }
        };
        self.0.pending().remove(&id);
        // A handshake cannot be canceled.
        if method != "initialize" && !self.0.transport().abandon(id) {
            let reason = interruption.to_string();
            let params = json!({"requestId": id, "reason": reason});
            self.0.notify(JsonRpcMessage::notification(
                "notifications/cancelled",
                Some(params),
            ));
        }
        Err(interruption)
    }

    /// Ends the connection and returns when nothing of it is left.
    pub(crate) async fn close(&self) {
        self.0.end();
        self.0.transport().close().await;
    }
}

impl ClientState {
    fn transport(&self) -> &dyn Transport {
        static CLOSED: ClosedTransport = ClosedTransport;
        self.transport
            .get()
            .map_or(&CLOSED, |transport| &**transport)
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, PendingRequest>> {
        self.pending.lock()
    }

    fn answer(&self, id: u64, outcome: Result<Value, McpError>) {
        match self.pending().remove(&id) {
            // The caller may no longer wait.
            Some(request) => drop(request.answer.send(outcome)),
            None => tracing::debug!(id, "an MCP server answered an unknown request"),
        }
    }

    /// Sends a request; an error is its result. The request is not interrupted when its caller no longer waits.
    fn send_request(self: &Arc<Self>, id: u64, message: Value) {
        let sending = self.transport().send(message);
        let state = Arc::downgrade(self);
        tokio::spawn(async move {
            if let Err(error) = sending.await
                && let Some(state) = state.upgrade()
            {
                state.answer(id, Err(error));
            }
        });
    }

    /// Sends a message that has no caller. A server that reads none of them receives no more.
    fn notify(&self, message: Value) {
        let waiting = Arc::clone(&self.waiting_replies);
        if waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING_REPLIES {
            waiting.fetch_sub(1, Ordering::Relaxed);
            tracing::debug!("an MCP server does not read its messages");
            return;
        }
        let sending = self.transport().send(message);
        tokio::spawn(async move {
            if let Err(error) = sending.await {
                tracing::debug!(%error, "cannot send a message to an MCP server");
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Fails the pending requests; returns whether the connection was open.
    fn end(&self) -> bool {
        let was_open = !self.is_closed.swap(true, Ordering::AcqRel);
        for asked in std::mem::take(&mut *self.asked()).into_values() {
            asked.cancel();
        }
        let pending = std::mem::take(&mut *self.pending());
        for request in pending.into_values() {
            request.answer.send(Err(McpError::Closed)).ok();
        }
        was_open
    }

    fn report_progress(&self, params: &Value) {
        let Value::Object(params) = params else {
            return;
        };
        let token = params.get("progressToken").and_then(Value::as_u64);
        let has_progress = params.get("progress").is_some_and(Value::is_number);
        let Some(token) = token.filter(|_| has_progress) else {
            return;
        };
        if let Some(request) = self.pending().get(&token)
            && let Some(report) = &request.progress
        {
            request.renewed.notify_one();
            report(params);
        }
    }
}

impl Inbox for ClientState {
    fn receive(&self, message: Value) {
        match JsonRpcMessage::parse(message) {
            Ok(JsonRpcMessage::Response { id, outcome }) => match id.as_u64() {
                Some(id) => self.answer(id, outcome.map_err(McpError::from)),
                None => tracing::debug!("an MCP server answered a request that was not sent"),
            },
            Ok(JsonRpcMessage::Request { id, method, params }) => {
                let outcome = match method.as_str() {
                    "ping" => Ok(json!({})),
                    "roots/list" => Ok(self.roots.clone()),
                    other => match self.observer.requested(other, params) {
                        Some(answer) => return self.answer_later(&id, answer),
                        None => Err(JsonRpcError::unknown_method(other)),
                    },
                };
                self.notify(JsonRpcMessage::response(&id, outcome));
            }
            Ok(JsonRpcMessage::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.withdraw(&params);
                }
                if method == "notifications/progress" {
                    self.report_progress(&params);
                }
                self.observer.notified(&method, &params);
            }
            Err(invalid) => {
                let problem = invalid.error.message;
                tracing::debug!(problem, "an MCP server sent an invalid message");
            }
        }
    }

    fn connection_lost(&self) {
        if self.end() {
            self.observer.connection_lost();
        }
    }
}

/// Placeholder for a transport that could not be started.
struct ClosedTransport;

impl Transport for ClosedTransport {
    fn send(
        &self,
        _message: Value,
    ) -> futures_util::future::BoxFuture<'static, Result<(), McpError>> {
        Box::pin(std::future::ready(Err(McpError::Closed)))
    }

    fn set_protocol_version(&self, _version: &str) {}

    fn close(&self) -> futures_util::future::BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Adds a value to the metadata of a request.
fn with_meta(params: Option<Value>, key: &str, value: Value) -> Value {
    let mut params = match params {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(key.to_owned(), value);
    }
    Value::Object(params)
}

fn roots(cwd: &Path) -> Value {
    let uri = Url::from_file_path(cwd).map_or_else(|()| String::new(), String::from);
    let name = cwd.file_name().unwrap_or_default().to_string_lossy();
    json!({"roots": [{"uri": uri, "name": name}]})
}

#[cfg(test)]
mod tests;
