//! Answers the requests of one client, whatever carries them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use pi_serve::McpConnection;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::questions::{AskUser, ClientRequests, RequestAsker, has_forms};
use super::sessions::ServedSessions;
use super::tools::{self, CallContext, Progress};
use super::{MODERN_VERSION, VERSIONS, prompts};

const INSTRUCTIONS: &str = "The tool `pi` lets a coding agent work on a task in a directory. It returns a session ID; `pi-reply` continues that session.";

/// The error of JSON-RPC for a version that is not supported.
const UNSUPPORTED_VERSION: i64 = -32022;

/// A client, as far as it has introduced itself. Clients without a handshake state everything in each request.
pub(super) struct ClientConnection {
    sessions: Arc<ServedSessions>,
    /// Whether the client has said in its handshake that it shows forms.
    shows_forms: AtomicBool,
    asked: Arc<ClientRequests>,
}

impl ClientConnection {
    pub(super) fn new(sessions: Arc<ServedSessions>) -> Self {
        Self {
            sessions,
            shows_forms: AtomicBool::new(false),
            asked: Arc::default(),
        }
    }

    /// Receives the response to a question.
    pub(super) fn receive(&self, id: &Value, outcome: Result<Value, JsonRpcError>) {
        self.asked.receive(id, outcome);
    }

    /// Sends the progress of a request and its response to `output`. A client expects no response to what it canceled.
    pub(super) async fn respond(
        &self,
        id: Value,
        method: String,
        params: Value,
        output: mpsc::Sender<Value>,
        cancel: CancellationToken,
    ) {
        let version = stated_version(&params);
        let answer = match version {
            None | Some(MODERN_VERSION) => {
                Box::pin(self.answer(&method, &params, &output, &cancel)).await
            }
            Some(version) => Err(unsupported(version)),
        };
        let answer = if version.is_some() {
            answer.map(completed)
        } else {
            answer
        };
        if !cancel.is_cancelled() {
            // The client may be gone.
            output
                .send(JsonRpcMessage::response(&id, answer))
                .await
                .ok();
        }
    }

    async fn answer(
        &self,
        method: &str,
        params: &Value,
        output: &mpsc::Sender<Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, JsonRpcError> {
        match method {
            "initialize" => {
                let shows_forms = has_forms(params.get("capabilities"));
                self.shows_forms.store(shows_forms, Ordering::Relaxed);
                Ok(initialized(params))
            }
            "server/discover" => Ok(discovered()),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools::declarations()})),
            "tools/call" => Box::pin(self.call(params, output, cancel)).await,
            "prompts/list" => Ok(prompts::declarations(&self.sessions.templates().await?)),
            "prompts/get" => prompts::get(&self.sessions.templates().await?, params),
            "resources/list" => Ok(self.sessions.resources()),
            "resources/templates/list" => Ok(json!({"resourceTemplates": [{
                "uriTemplate": "pi://session/{id}",
                "name": "session",
                "description": "The entries of a session, one JSON object per line",
                "mimeType": "application/jsonl",
            }]})),
            "resources/read" => self.sessions.read_resource(params).await,
            other => Err(JsonRpcError::unknown_method(other)),
        }
    }

    async fn call(
        &self,
        params: &Value,
        output: &mpsc::Sender<Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, JsonRpcError> {
        let progress = progress_target(params, output);
        let is_modern = stated_version(params).is_some();
        let meta = params.get("_meta");
        let capabilities = meta.and_then(|it| it.get("io.modelcontextprotocol/clientCapabilities"));
        if is_modern && has_forms(capabilities) {
            return Box::pin(self.suspendable_call(params, progress, cancel)).await;
        }
        let asker = (!is_modern && self.shows_forms.load(Ordering::Relaxed)).then(|| {
            Arc::new(RequestAsker {
                requests: Arc::clone(&self.asked),
                output: output.clone(),
            }) as Arc<dyn AskUser>
        });
        let context = CallContext {
            progress: Arc::new(Progress::new(progress)),
            asker,
            cancel: cancel.clone(),
        };
        tools::call(&self.sessions, params, context).await
    }

    /// Starts or continues a call that asks the user with its result.
    async fn suspendable_call(
        &self,
        params: &Value,
        progress: Option<(Value, mpsc::Sender<Value>)>,
        cancel: &CancellationToken,
    ) -> Result<Value, JsonRpcError> {
        let calls = self.sessions.suspended_calls();
        let call = match params.get("requestState") {
            Some(state) => {
                let call = calls.resume(state, params).ok_or_else(|| {
                    JsonRpcError::invalid_params("requestState", "names no call that waits")
                })?;
                call.progress.redirect(progress);
                call
            }
            None => {
                let progress = Arc::new(Progress::new(progress));
                let reported = Arc::clone(&progress);
                let (sessions, params) = (Arc::clone(&self.sessions), params.clone());
                calls.start(progress, |asker, cancel| {
                    Box::pin(async move {
                        let context = CallContext {
                            progress: reported,
                            asker: Some(asker),
                            cancel,
                        };
                        tools::call(&sessions, &params, context).await
                    })
                })
            }
        };
        calls.advance(call, cancel).await
    }
}

impl McpConnection for ClientConnection {
    fn request(
        self: Arc<Self>,
        message: Value,
        output: mpsc::Sender<Value>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            match JsonRpcMessage::parse(message) {
                Ok(JsonRpcMessage::Request { id, method, params }) => {
                    self.respond(id, method, params, output, cancel).await;
                }
                _ => {
                    let error = JsonRpcError::invalid_request("not a request of JSON-RPC 2.0");
                    let response = JsonRpcMessage::response(&Value::Null, Err(error));
                    output.send(response).await.ok();
                }
            }
        })
    }

    fn response(&self, message: Value) {
        if let Ok(JsonRpcMessage::Response { id, outcome }) = JsonRpcMessage::parse(message) {
            self.receive(&id, outcome);
        }
    }
}

/// Returns where the steps of a call are reported, if the client wants to know them.
fn progress_target(
    params: &Value,
    output: &mpsc::Sender<Value>,
) -> Option<(Value, mpsc::Sender<Value>)> {
    let token = params.get("_meta")?.get("progressToken")?.clone();
    Some((token, output.clone()))
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}, "prompts": {}})
}

fn initialized(params: &Value) -> Value {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let mut versions = VERSIONS.into_iter();
    let version = versions.find(|version| Some(*version) == requested);
    let [latest, ..] = VERSIONS;
    json!({
        "protocolVersion": version.unwrap_or(latest),
        "capabilities": capabilities(),
        "serverInfo": {"name": "pi", "title": "pi", "version": pi_env::VERSION},
        "instructions": INSTRUCTIONS,
    })
}

fn discovered() -> Value {
    json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities(),
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

fn unsupported(version: &str) -> JsonRpcError {
    let versions: Vec<_> = std::iter::once(MODERN_VERSION).chain(VERSIONS).collect();
    let data = json!({"supported": versions, "requested": version});
    let message = format!("version {version} of the protocol is not supported");
    JsonRpcError::new(UNSUPPORTED_VERSION, message).with_data(data)
}

/// Adds what results without a handshake state.
fn completed(mut result: Value) -> Value {
    if let Value::Object(result) = &mut result {
        let server = json!({"name": "pi", "version": pi_env::VERSION});
        if !result.contains_key("resultType") {
            result.insert("resultType".to_owned(), "complete".into());
            result.insert("ttlMs".to_owned(), 0.into());
            result.insert("cacheScope".to_owned(), "private".into());
        }
        let meta = json!({"io.modelcontextprotocol/serverInfo": server});
        result.insert("_meta".to_owned(), meta);
    }
    result
}
