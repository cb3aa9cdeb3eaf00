//! Servers with streamable HTTP: every message is a request; responses and messages of the server arrive as JSON or as
//! event streams, which are resumed if they break.

mod modern;
mod response;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_http::{HttpClient, KnownSecrets, Route, send_error, user_agent};
use reqwest::Response;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::auth::{McpAuth, RejectedToken};
use crate::client::envelope_version;
use crate::error::McpError;
use crate::secrets::secret_in;
use crate::transport::{MAX_MESSAGE_BYTES, Transport, WeakInbox};
use modern::{add_modern_headers, rpc_error};
pub(crate) use response::read_limited;
use response::{challenge_of, content_type, failure_text, read_start};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const EVENT_STREAM: &str = "text/event-stream";

/// Limit for the end of a session.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// A server and how to reach it.
pub(crate) struct HttpTarget {
    pub(crate) url: Url,
    /// Configured headers, resolved.
    pub(crate) headers: HeaderMap,
    pub(crate) client: HttpClient,
    pub(crate) env: Env,
    pub(crate) auth: Option<Arc<dyn McpAuth>>,
}

pub(crate) struct HttpTransport(Arc<HttpState>);

struct HttpState {
    target: HttpTarget,
    inbox: WeakInbox,
    session: Mutex<HttpSession>,
    closing: CancellationToken,
    /// Streams that are being read.
    tasks: TaskTracker,
    /// Requests that are canceled by closing their responses.
    cancelable: Mutex<HashMap<u64, CancellationToken>>,
}

#[derive(Default)]
struct HttpSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The token of the last request, for the request that ends the session.
    token: Option<SecretString>,
    has_stream: bool,
}

/// What is left of an exchange after its response has started.
enum Exchange {
    Ended,
    /// The response is being read.
    Streaming,
}

impl HttpTransport {
    pub(crate) fn new(target: HttpTarget, inbox: WeakInbox) -> Self {
        Self(Arc::new(HttpState {
            target,
            inbox,
            session: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            cancelable: Mutex::default(),
        }))
    }
}

impl Transport for HttpTransport {
    fn send(&self, message: Value) -> BoxFuture<'static, Result<(), McpError>> {
        let state = Arc::clone(&self.0);
        let canceled = state.track(&message);
        let id = message.get("id").and_then(Value::as_u64);
        async move {
            let posting = Arc::clone(&state).post(message, canceled.clone());
            let result = canceled.run_until_cancelled(posting).await;
            match result.unwrap_or(Err(McpError::Closed)) {
                Ok(Exchange::Streaming) => Ok(()),
                ended => {
                    id.and_then(|id| state.cancelable().remove(&id));
                    ended.map(|_| ())
                }
            }
        }
        .boxed()
    }

    fn abandon(&self, request: u64) -> bool {
        match self.0.cancelable().remove(&request) {
            Some(canceled) => {
                canceled.cancel();
                true
            }
            None => false,
        }
    }

    fn redact(&self, text: String) -> String {
        self.0.redact(text)
    }

    fn set_protocol_version(&self, version: &str) {
        self.0.session().version = HeaderValue::from_str(version).ok();
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let state = Arc::clone(&self.0);
        state.closing.cancel();
        state.tasks.close();
        async move {
            state.tasks.wait().await;
            tokio::time::timeout(END_TIMEOUT, state.end_session())
                .await
                .ok();
        }
        .boxed()
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.0.closing.cancel();
    }
}

impl HttpState {
    fn session(&self) -> MutexGuard<'_, HttpSession> {
        self.session.lock()
    }

    fn cancelable(&self) -> MutexGuard<'_, HashMap<u64, CancellationToken>> {
        self.cancelable.lock()
    }

    /// Returns what ends the exchange of a message. A request without a handshake is canceled by closing its response.
    fn track(&self, message: &Value) -> CancellationToken {
        let canceled = self.closing.child_token();
        let id = message.get("id").and_then(Value::as_u64);
        if let Some(id) = id.filter(|_| envelope_version(message).is_some()) {
            self.cancelable().insert(id, canceled.clone());
        }
        canceled
    }

    /// Removes the credentials of the server.
    fn redact(&self, text: String) -> String {
        let HttpTarget { url, headers, .. } = &self.target;
        let headers = headers.iter().filter_map(|(name, value)| {
            let secret = secret_in(name.as_str(), value.to_str().ok()?)?;
            Some(secret.to_owned())
        });
        let parameters = url
            .query_pairs()
            .filter_map(|(name, value)| secret_in(&name, &value).map(str::to_owned));
        let mut secrets = KnownSecrets::new(headers.chain(parameters));
        secrets.extend(url.password().map(str::to_owned));
        let token = self.session().token.clone();
        secrets.extend(token.map(|token| token.expose_secret().to_owned()));
        secrets.redact(text)
    }

    /// Sends a message and receives the response to a request.
    async fn post(
        self: Arc<Self>,
        message: Value,
        canceled: CancellationToken,
    ) -> Result<Exchange, McpError> {
        let method = message.get("method").and_then(Value::as_str);
        let request_id = message.get("id").filter(|_| method.is_some()).cloned();
        let is_initialized = method == Some("notifications/initialized");
        let name = method.unwrap_or_default().to_owned();
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accept);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let is_modern = add_modern_headers(&mut headers, &message);
        if is_initialized {
            // The message stream is opened next, and the server may still be busy with this connection.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let body = message.to_string();
        let response = self.authorized(Method::POST, headers, Some(body)).await?;
        let response = self.checked(response, is_modern).await?;
        let Some(request_id) = request_id else {
            if is_initialized {
                self.start_stream().await;
            }
            return Ok(Exchange::Ended);
        };
        let status = response.status().as_u16();
        if matches!(status, 202 | 204) {
            return Err(McpError::Http {
                status,
                message: format!("the MCP server accepted {name} without a response"),
            });
        }
        match content_type(&response).as_str() {
            "application/json" => {
                let body = read_limited(response, &self.route(), MAX_MESSAGE_BYTES).await?;
                let body = serde_json::from_slice(&body)
                    .map_err(|_error| McpError::protocol("the MCP server sent invalid JSON"))?;
                match body {
                    Value::Array(messages) => messages.into_iter().for_each(|it| self.receive(it)),
                    message => self.receive(message),
                }
                Ok(Exchange::Ended)
            }
            EVENT_STREAM => {
                let state = Arc::clone(&self);
                self.spawn(async move {
                    let id = request_id.as_u64();
                    let reading = state.read_response(response, request_id);
                    canceled.run_until_cancelled(reading).await;
                    id.and_then(|id| state.cancelable().remove(&id));
                });
                Ok(Exchange::Streaming)
            }
            other => Err(McpError::Http {
                status,
                message: format!("the MCP server sent an unknown type of content: \"{other}\""),
            }),
        }
    }

    /// Runs a task until the transport is closed.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        let work = work.boxed();
        self.tasks.spawn(async move {
            closing.run_until_cancelled(work).await;
        });
    }

    fn receive(&self, message: Value) {
        if let Some(inbox) = self.inbox.upgrade() {
            inbox.receive(message);
        }
    }

    /// Sends a request with the token of the server, and once more if the token was replaced.
    async fn authorized(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<String>,
    ) -> Result<Response, McpError> {
        let mut is_first = true;
        loop {
            let token = match &self.target.auth {
                Some(auth) => auth.token().await?,
                None => None,
            };
            self.session().token.clone_from(&token);
            let response = self
                .send_once(method.clone(), headers.clone(), body.clone())
                .await?;
            let challenge = challenge_of(&response);
            let (Some(challenge), Some(auth)) = (challenge, &self.target.auth) else {
                return Ok(response);
            };
            if !std::mem::take(&mut is_first) {
                return Ok(response);
            }
            match auth.rejected(challenge, token).await? {
                RejectedToken::Replaced => {}
                RejectedToken::SignInNeeded => return Err(McpError::Unauthorized),
            }
        }
    }

    async fn send_once(
        &self,
        method: Method,
        more: HeaderMap,
        body: Option<String>,
    ) -> Result<Response, McpError> {
        let HttpTarget {
            url, client, env, ..
        } = &self.target;
        let (client, route) = client
            .client_and_route(url, env)
            .map_err(|error| McpError::Setup(error.message))?;
        let mut request = client
            .request(method, url.clone())
            .headers(self.headers(&more));
        if let Some(body) = body {
            request = request.body(body);
        }
        request
            .send()
            .await
            .map_err(|error| McpError::Network(send_error(error, &route).message))
    }

    fn route(&self) -> Route {
        Route::new(&self.target.url, None)
    }

    /// Returns the headers of a request; those of the protocol replace configured ones.
    fn headers(&self, more: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Ok(agent) = HeaderValue::from_str(&user_agent()) {
            headers.insert(USER_AGENT, agent);
        }
        headers.extend(self.target.headers.clone());
        for (name, value) in more {
            headers.insert(name.clone(), value.clone());
        }
        let session = self.session();
        let token = session.token.as_ref().map(|token| {
            HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())).map(|mut token| {
                token.set_sensitive(true);
                token
            })
        });
        for (name, value) in [
            (SESSION_ID, session.id.clone()),
            (PROTOCOL_VERSION, session.version.clone()),
            (AUTHORIZATION, token.and_then(Result::ok)),
        ] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// Returns a successful response, and remembers the session it belongs to. Servers of 2026-07-28 send errors of requests
    /// with the status of an error.
    async fn checked(&self, response: Response, is_modern: bool) -> Result<Response, McpError> {
        let status = response.status().as_u16();
        if response.status().is_success() {
            if let Some(id) = response.headers().get(SESSION_ID) {
                self.session().id = Some(id.clone());
            }
            return Ok(response);
        }
        let has_session = self.session().id.is_some();
        match status {
            401 => Err(McpError::Unauthorized),
            404 if has_session => Err(McpError::SessionExpired),
            _ => {
                // Before it is cut, which could leave a part of a credential.
                let body = self.redact(read_start(response).await);
                if let Some(error) = rpc_error(status, &body, is_modern) {
                    return Err(error);
                }
                Err(McpError::Http {
                    status,
                    message: failure_text(status, &body),
                })
            }
        }
    }

    async fn end_session(&self) {
        if self.session().id.is_none() {
            return;
        }
        let ended = self.send_once(Method::DELETE, HeaderMap::new(), None).await;
        if let Err(error) = ended {
            tracing::debug!(%error, "cannot end the session of an MCP server");
        }
    }
}
