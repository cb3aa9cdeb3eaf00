//! One connection to a server: the handshake, requests with their timeouts, and what the server asks.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::error::{METHOD_NOT_FOUND, McpError};
use crate::json_rpc::{self, ServerMessage};
use crate::transport::{Inbox, Transport};

/// The version of the protocol that is requested.
const LATEST_VERSION: &str = "2025-11-25";

const SUPPORTED_VERSIONS: [&str; 4] = [LATEST_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

/// Limit for the pages of a list.
const MAX_PAGES: usize = 1_000;

/// Limits for a list, over all pages.
const MAX_ITEMS: usize = 20_000;
const MAX_LIST_BYTES: usize = 64 << 20;

/// How many replies may wait until the server reads them; further requests of the server are not answered.
const MAX_WAITING_REPLIES: usize = 256;

/// Receives what the server sends without being asked.
pub(crate) trait ClientObserver: Send + Sync {
    fn notified(&self, method: &str, params: &Value);

    /// The server has ended the connection.
    fn connection_lost(&self);
}

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

/// What the server states about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ServerInfo {
    pub(crate) has_tools: bool,
    pub(crate) has_resources: bool,
    pub(crate) instructions: Option<String>,
}

/// A connection to a server. Clones share it.
#[derive(Clone)]
pub(crate) struct Client(Arc<ClientState>);

struct ClientState {
    transport: OnceLock<Box<dyn Transport>>,
    observer: Box<dyn ClientObserver>,
    /// What `roots/list` returns.
    roots: Value,
    pending: Mutex<HashMap<u64, PendingRequest>>,
    next_id: AtomicU64,
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
        let state = Arc::new(ClientState {
            transport: OnceLock::new(),
            observer,
            roots: roots(cwd),
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            waiting_replies: Arc::default(),
            is_closed: AtomicBool::new(false),
        });
        let weak = Arc::downgrade(&state);
        let transport = connect(weak)?;
        state.transport.get_or_init(|| transport);
        Ok(Self(state))
    }

    /// Makes the handshake.
    pub(crate) async fn initialize(&self, timeout: Duration) -> Result<ServerInfo, McpError> {
        let params = json!({
            "protocolVersion": LATEST_VERSION,
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "pi", "version": pi_env::VERSION},
        });
        let options = RequestOptions::new(timeout);
        let result = self.request("initialize", Some(params), options).await?;
        let (version, info) = parse_server_info(&result)?;
        if !SUPPORTED_VERSIONS.contains(&version) {
            return Err(McpError::protocol(format!(
                "the MCP server uses version {version} of the protocol, which is not supported"
            )));
        }
        self.0.transport().set_protocol_version(version);
        let initialized = json_rpc::notification("notifications/initialized", None);
        self.0.transport().send(initialized).await?;
        Ok(info)
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
        let result = self.exchange(method, params, options).await;
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
        let params = match &progress {
            Some(_) => Some(with_progress_token(params, id)),
            None => params,
        };
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
            .send_request(id, json_rpc::request(id, method, params));
        let interruption = loop {
            tokio::select! {
                // What has arrived wins over the timer.
                biased;
                result = &mut answer => return result.unwrap_or(Err(McpError::Closed)),
                () = renewed.notified() => {}
                () = cancel.cancelled() => break McpError::Canceled,
                () = tokio::time::sleep(timeout) => break McpError::TimedOut(timeout),
            }
        };
        self.0.pending().remove(&id);
        // A handshake cannot be canceled.
        if method != "initialize" {
            let reason = interruption.to_string();
            let params = json!({"requestId": id, "reason": reason});
            self.0.notify(json_rpc::notification(
                "notifications/cancelled",
                Some(params),
            ));
        }
        Err(interruption)
    }

    /// Returns all items of a list.
    pub(crate) async fn list_all(
        &self,
        list: ListKind,
        options: &RequestOptions,
    ) -> Result<Vec<Map<String, Value>>, McpError> {
        let mut items = Vec::new();
        let mut bytes = 0;
        let mut cursors: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self
                .list_page(list, cursors.last().cloned(), options.clone())
                .await?;
            bytes += page.items.iter().map(item_size).sum::<usize>();
            items.extend(page.items);
            if items.len() > MAX_ITEMS || bytes > MAX_LIST_BYTES {
                return Err(McpError::protocol(format!(
                    "{} returned more than {MAX_ITEMS} items or {} MiB",
                    list.method(),
                    MAX_LIST_BYTES >> 20
                )));
            }
            match page.next_cursor {
                None => return Ok(items),
                Some(cursor) if cursors.contains(&cursor) => {
                    return Err(McpError::protocol(format!(
                        "{} returned the same page twice",
                        list.method()
                    )));
                }
                Some(cursor) => cursors.push(cursor),
            }
        }
        Err(McpError::protocol(format!(
            "{} returned more than {MAX_PAGES} pages",
            list.method()
        )))
    }

    pub(crate) async fn list_page(
        &self,
        list: ListKind,
        cursor: Option<String>,
        options: RequestOptions,
    ) -> Result<ListPage, McpError> {
        let params = cursor.map(|cursor| json!({ "cursor": cursor }));
        let result = self.request(list.method(), params, options).await?;
        list.parse(result)
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
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
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
        match ServerMessage::parse(message) {
            Some(ServerMessage::Response {
                id: Some(id),
                outcome,
            }) => self.answer(id, outcome),
            Some(ServerMessage::Request { id, method, .. }) => {
                let reply = match method.as_str() {
                    "ping" => json_rpc::response(&id, &json!({})),
                    "roots/list" => json_rpc::response(&id, &self.roots),
                    other => json_rpc::error_response(
                        &id,
                        METHOD_NOT_FOUND,
                        &format!("unknown method: {other}"),
                    ),
                };
                self.notify(reply);
            }
            Some(ServerMessage::Notification { method, params }) => {
                if method == "notifications/progress" {
                    self.report_progress(&params);
                }
                self.observer.notified(&method, &params);
            }
            Some(ServerMessage::Response { id: None, .. }) | None => {
                tracing::debug!("an MCP server sent an invalid message");
            }
        }
    }

    fn connection_lost(&self) {
        if self.end() {
            self.observer.connection_lost();
        }
    }
}

/// Estimates the memory that an item of a list needs.
fn item_size(item: &Map<String, Value>) -> usize {
    /// For a value and, in an object, its key.
    const VALUE: usize = 64;
    fn value_size(value: &Value) -> usize {
        VALUE
            + match value {
                Value::String(text) => text.len(),
                Value::Array(items) => items.iter().map(value_size).sum(),
                Value::Object(fields) => item_size(fields),
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            }
    }
    let fields = item.iter();
    fields
        .map(|(key, value)| key.len() + value_size(value))
        .sum()
}

/// Stands for a transport that could not be started.
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

fn with_progress_token(params: Option<Value>, token: u64) -> Value {
    let mut params = match params {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    params.insert("_meta".to_owned(), json!({ "progressToken": token }));
    Value::Object(params)
}

fn roots(cwd: &Path) -> Value {
    let uri = Url::from_file_path(cwd).map_or_else(|()| String::new(), String::from);
    let name = cwd.file_name().unwrap_or_default().to_string_lossy();
    json!({"roots": [{"uri": uri, "name": name}]})
}

/// Returns the version of the protocol and what else the handshake states.
fn parse_server_info(result: &Value) -> Result<(&str, ServerInfo), McpError> {
    let server = result.get("serverInfo");
    let named = |key| {
        server
            .and_then(|server| server.get(key))
            .and_then(Value::as_str)
    };
    let capabilities = result.get("capabilities").and_then(Value::as_object);
    let version = result.get("protocolVersion").and_then(Value::as_str);
    let instructions = match result.get("instructions") {
        None => Some(None),
        Some(Value::String(text)) => Some(Some(text.trim().to_owned())),
        Some(_) => None,
    };
    match (
        version,
        capabilities,
        instructions,
        named("name"),
        named("version"),
    ) {
        (Some(version), Some(capabilities), Some(instructions), Some(_), Some(_)) => {
            let info = ServerInfo {
                has_tools: capabilities.get("tools").is_some_and(is_present),
                has_resources: capabilities.contains_key("resources"),
                instructions: instructions.filter(|text| !text.is_empty()),
            };
            Ok((version, info))
        }
        _ => Err(McpError::protocol(
            "the MCP server sent an invalid result of initialize",
        )),
    }
}

/// Whether a capability is not turned off.
fn is_present(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

/// A list that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    ResourceTemplates,
}

/// A part of a list.
#[derive(Debug, Default)]
pub(crate) struct ListPage {
    pub(crate) items: Vec<Map<String, Value>>,
    pub(crate) next_cursor: Option<String>,
}

impl ListKind {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// Returns the key of the list in results.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }

    fn parse(self, result: Value) -> Result<ListPage, McpError> {
        let invalid = || {
            McpError::protocol(format!(
                "the MCP server sent an invalid result of {}",
                self.method()
            ))
        };
        let Value::Object(mut result) = result else {
            return Err(invalid());
        };
        let Some(Value::Array(items)) = result.shift_remove(self.key()) else {
            return Err(invalid());
        };
        let items = items.into_iter().map(|item| match item {
            Value::Object(item) => self.complete(item).ok_or_else(invalid),
            _ => Err(invalid()),
        });
        let items = items.collect::<Result<_, _>>()?;
        let next_cursor = match result.shift_remove("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor).filter(|cursor| !cursor.is_empty()),
            Some(_) => return Err(invalid()),
        };
        Ok(ListPage { items, next_cursor })
    }

    /// Returns an item with a name; `None` if it is invalid.
    fn complete(self, mut item: Map<String, Value>) -> Option<Map<String, Value>> {
        let address = match self {
            Self::Tools => {
                let is_valid =
                    item.get("name")?.is_string() && item.get("inputSchema")?.is_object();
                return is_valid.then_some(item);
            }
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        };
        let address = item.get(address)?.as_str()?.to_owned();
        match item.get("name") {
            None => {
                item.insert("name".to_owned(), address.into());
            }
            Some(Value::String(_)) => {}
            Some(_) => return None,
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests;
