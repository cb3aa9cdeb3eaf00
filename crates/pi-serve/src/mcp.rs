//! `/mcp`: the streamable HTTP transport of the Model Context Protocol.
//!
//! Each request is answered on its own response: with JSON, or with events if it may report progress or ask the user.
//! There is no other stream (`GET` is refused) and none that can be resumed. Clients with a handshake receive an ID that
//! later messages repeat; versions without a handshake state everything in each request.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::body::{BodyLimit, Reply, empty_reply, json, read_body};
use crate::events::{KEEP_ALIVE, event, stream};
use crate::problem::Problem;
use crate::server::ServerState;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Clients that have introduced themselves. The one that was used least recently makes room for another.
const MAX_CLIENTS: usize = 64;

/// Messages about one request that wait to be sent.
const QUEUE: usize = 64;

/// Answers the messages of one client.
pub trait McpConnection: Send + Sync {
    /// Answers a request: sends messages about it and then its response, or none once it was canceled.
    fn request(
        self: Arc<Self>,
        message: Value,
        output: mpsc::Sender<Value>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()>;

    /// Receives the response to a request that was among the messages.
    fn response(&self, message: Value);
}

/// The MCP endpoint.
pub struct McpEndpoint {
    /// The version without a handshake.
    pub modern_version: &'static str,
    /// Versions with a handshake.
    pub versions: &'static [&'static str],
    /// Called for each handshake, and for each request of a version without one.
    pub connect: Box<dyn Fn() -> Arc<dyn McpConnection> + Send + Sync>,
}

/// The clients with a handshake, the least recently used first.
#[derive(Default)]
pub(crate) struct McpClients(Mutex<Vec<McpClient>>);

struct McpClient {
    id: String,
    connection: Arc<dyn McpConnection>,
    /// Requests in progress, by the JSON of their IDs.
    running: HashMap<String, CancellationToken>,
}

impl Drop for McpClient {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.cancel();
        }
    }
}

impl McpClients {
    fn lock(&self) -> MutexGuard<'_, Vec<McpClient>> {
        self.0.lock()
    }

    fn add(&self, connection: Arc<dyn McpConnection>) -> std::io::Result<String> {
        let id = crate::credentials::random_text::<24>()?;
        let mut clients = self.lock();
        if clients.len() >= MAX_CLIENTS {
            let idle = clients.iter().position(|it| it.running.is_empty());
            clients.remove(idle.unwrap_or(0));
        }
        clients.push(McpClient {
            id: id.clone(),
            connection,
            running: HashMap::new(),
        });
        Ok(id)
    }

    /// Calls `change` for a client, which becomes the most recently used one.
    fn with<T>(&self, id: &str, change: impl FnOnce(&mut McpClient) -> T) -> Option<T> {
        let mut clients = self.lock();
        let position = clients.iter().position(|client| client.id == id)?;
        let mut client = clients.remove(position);
        let changed = change(&mut client);
        clients.push(client);
        Some(changed)
    }

    fn remove(&self, id: &str) -> bool {
        let mut clients = self.lock();
        let before = clients.len();
        clients.retain(|client| client.id != id);
        clients.len() < before
    }
}

/// Answers a message.
pub(crate) async fn post(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let endpoint = endpoint(state)?;
    let headers = request.headers().clone();
    check_version(endpoint, &headers)?;
    let body = read_body(request, BodyLimit::REQUEST).await?;
    let message: Value = serde_json::from_slice(&body)
        .map_err(|error| Problem::bad_request(format!("invalid JSON: {error}")))?;
    if !message.is_object() {
        return Err(Problem::bad_request("send one message of JSON-RPC"));
    }
    let method = message.get("method").and_then(Value::as_str);
    let method = method.unwrap_or_default().to_owned();
    let is_modern = states_version(&message)
        || text(&headers, &PROTOCOL_VERSION) == Some(endpoint.modern_version);
    let (client, connection) = if is_modern || method == "initialize" {
        (None, (endpoint.connect)())
    } else {
        let (client, connection) = known_client(state, &headers)?;
        (Some(client), connection)
    };
    let Some(id) = message.get("id").filter(|_| !method.is_empty()) else {
        match client {
            Some(client) if method == "notifications/cancelled" => {
                cancel(state, &client, &message);
            }
            Some(_) if method.is_empty() => connection.response(message),
            _ => {}
        }
        return Ok(empty_reply(StatusCode::ACCEPTED));
    };
    let started = StartedRequest {
        state: Arc::clone(state),
        key: id.to_string(),
        client,
        cancel: CancellationToken::new(),
    };
    if let Some(client) = &started.client {
        let (key, cancel) = (started.key.clone(), started.cancel.clone());
        state.mcp.with(client, |it| it.running.insert(key, cancel));
    }
    let (output, messages) = mpsc::channel(QUEUE);
    let answering = Arc::clone(&connection);
    let answering = answering.request(message.clone(), output, started.cancel.clone());
    if method == "tools/call" && accepts(&headers, "text/event-stream") {
        // A lost connection ends a request only where the protocol has no other way to cancel it.
        let ends_with_connection = is_modern.then(|| started.cancel.clone().drop_guard());
        state.tasks.spawn(async move {
            answering.await;
            drop(started);
        });
        return Ok(stream(state, |body| {
            Box::pin(async move {
                send_messages(messages, body).await;
                drop(ends_with_connection);
            })
        }));
    }
    let answer = first_response(answering, messages, &*connection).await;
    drop(started);
    let Some(answer) = answer else {
        return Ok(empty_reply(StatusCode::ACCEPTED));
    };
    let mut reply = json(StatusCode::OK, &answer)?;
    if method == "initialize" && answer.get("result").is_some() {
        let id = state.mcp.add(connection);
        let id = id.map_err(|error| Problem::internal(&error))?;
        let id = HeaderValue::from_str(&id).map_err(|error| Problem::internal(&error))?;
        reply.headers_mut().insert(SESSION_ID, id);
    }
    Ok(reply)
}

/// Ends the session of a client.
pub(crate) fn delete(state: &Arc<ServerState>, headers: &HeaderMap) -> Result<Reply, Problem> {
    let (client, _) = known_client(state, headers)?;
    state.mcp.remove(&client);
    Ok(empty_reply(StatusCode::NO_CONTENT))
}

fn endpoint(state: &ServerState) -> Result<&McpEndpoint, Problem> {
    let endpoint = state.options.mcp.as_ref();
    endpoint.ok_or_else(|| Problem::not_found("this server has no MCP endpoint"))
}

/// A request in progress; it can be canceled until this is dropped.
struct StartedRequest {
    state: Arc<ServerState>,
    client: Option<String>,
    key: String,
    cancel: CancellationToken,
}

impl Drop for StartedRequest {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            let clients = &self.state.mcp;
            clients.with(client, |it| it.running.remove(&self.key));
        }
    }
}

fn check_version(endpoint: &McpEndpoint, headers: &HeaderMap) -> Result<(), Problem> {
    match text(headers, &PROTOCOL_VERSION) {
        Some(version)
            if version != endpoint.modern_version && !endpoint.versions.contains(&version) =>
        {
            Err(Problem::bad_request(format!(
                "version {version} of the protocol is not supported"
            )))
        }
        _ => Ok(()),
    }
}

/// Whether a request states its version, because there was no handshake.
fn states_version(message: &Value) -> bool {
    let meta = message.get("params").and_then(|params| params.get("_meta"));
    meta.is_some_and(|meta| {
        meta.get("io.modelcontextprotocol/protocolVersion")
            .is_some()
    })
}

fn known_client(
    state: &ServerState,
    headers: &HeaderMap,
) -> Result<(String, Arc<dyn McpConnection>), Problem> {
    let Some(id) = text(headers, &SESSION_ID) else {
        return Err(Problem::bad_request(
            "send the header Mcp-Session-Id of the response to initialize",
        ));
    };
    let known = |client: &mut McpClient| (client.id.clone(), Arc::clone(&client.connection));
    match state.mcp.with(id, known) {
        Some(known) => Ok(known),
        None => Err(Problem::not_found(
            "the session has ended; send initialize again",
        )),
    }
}

fn cancel(state: &ServerState, client: &str, message: &Value) {
    let request = message.get("params").and_then(|it| it.get("requestId"));
    let key = request.map(Value::to_string).unwrap_or_default();
    state.mcp.with(client, |client| {
        if let Some(running) = client.running.get(&key) {
            running.cancel();
        }
    });
}

fn text<'headers>(headers: &'headers HeaderMap, name: &HeaderName) -> Option<&'headers str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    text(headers, &header::ACCEPT).is_some_and(|accepted| accepted.contains(media_type))
}

async fn send_messages(mut messages: mpsc::Receiver<Value>, body: mpsc::Sender<Bytes>) {
    loop {
        let part = match tokio::time::timeout(KEEP_ALIVE, messages.recv()).await {
            Ok(Some(message)) => event(Some("message"), None, &message.to_string()),
            Ok(None) => return,
            Err(_elapsed) => Bytes::from_static(b": \n\n"),
        };
        if body.send(part).await.is_err() {
            return;
        }
    }
}

/// Waits for the response of a request. Other messages about it have no place in a single response: questions are refused,
/// the rest is dropped.
async fn first_response(
    answering: BoxFuture<'static, ()>,
    mut messages: mpsc::Receiver<Value>,
    connection: &dyn McpConnection,
) -> Option<Value> {
    let reading = async {
        let mut response = None;
        while let Some(message) = messages.recv().await {
            match (message.get("method"), message.get("id")) {
                (None, _) => response = Some(message),
                (Some(_), Some(id)) => {
                    let error = JsonRpcError::internal("the client accepts no event stream");
                    connection.response(JsonRpcMessage::response(id, Err(error)));
                }
                (Some(_), None) => {}
            }
        }
        response
    };
    let ((), response) = tokio::join!(answering, reading);
    response
}
