//! One request over a WebSocket: leases a connection, sends what the service does not have, decodes
//! the response, and recovers when the connection fails.

use std::time::Duration;

use pi_http::{HeaderOverrides, HttpClient, WebSocketMessage};
use pi_protocol::json::{JsonObject, value_to_string};
use pi_protocol::{Diagnostic, DiagnosticError, ProviderError, StreamPhase, TransportPreference};
use serde_json::{Value, json};

use super::pool::{Connection, SocketKey, SocketPool};
use super::recovery::{AttemptError, AttemptProgress, RecoveryAction, WebSocketRecovery};
use super::request::{self, CodexAccount};
use super::socket::{MessageSocket, SocketOpener, SocketTarget};
use crate::options::ModelRequest;
use crate::response_budget::TransportBudget;
use crate::wire::DecodeStatus;
use crate::wire::openai_responses::reader::EventReader;
use crate::wire::openai_responses::request::{cached_session_id, input_builder};
use crate::wire::openai_responses::tools::grammar_properties;
use pi_stream::StreamWriter;

/// Headers that do not apply to a handshake.
const BODY_HEADERS: [&str; 3] = ["accept", "content-type", "content-encoding"];

/// The outcome of a request over a WebSocket.
#[derive(Debug)]
pub(super) enum WebSocketOutcome {
    Complete,
    /// The connection failed before the response began; use HTTP instead.
    UseHttp,
    /// The connection broke during the response.
    Broken(ProviderError),
    /// The service reported an error.
    Failed(ProviderError),
}

/// A request ready to be sent over a WebSocket.
pub(super) struct SocketRequest<'run, O: SocketOpener> {
    request: &'run ModelRequest,
    http: &'run HttpClient,
    opener: &'run O,
    pool: &'run SocketPool<O::Socket>,
    body: &'run JsonObject,
    url: String,
    headers: HeaderOverrides,
    key: Option<SocketKey>,
}

impl<'run, O: SocketOpener> SocketRequest<'run, O> {
    /// `body` has already been processed by the hooks.
    pub(super) async fn new(
        request: &'run ModelRequest,
        http: &'run HttpClient,
        opener: &'run O,
        pool: &'run SocketPool<O::Socket>,
        body: &'run JsonObject,
    ) -> Result<Self, ProviderError> {
        let account = CodexAccount::resolve(request)?;
        let url = request::websocket_url(&request.model.base_url);
        Ok(Self {
            key: cached_session_id(request).map(|session_id| SocketKey {
                session_id,
                account_id: account.id.clone(),
                url: url.clone(),
            }),
            headers: handshake_headers(request, &account).await,
            request,
            http,
            opener,
            pool,
            body,
            url,
        })
    }

    /// Sends the request and decodes the response into the message.
    pub(super) async fn run(&self, writer: &mut StreamWriter) -> WebSocketOutcome {
        let mut recovery = WebSocketRecovery::default();
        loop {
            let mut progress = AttemptProgress {
                reused: false,
                response_started: false,
            };
            let Err(failure) = self.attempt(&mut progress, writer).await else {
                return WebSocketOutcome::Complete;
            };
            match (recovery.after(&failure, progress), failure) {
                (RecoveryAction::Retry, failure) => {
                    tracing::debug!(?failure, "retrying on a new WebSocket");
                }
                (action @ RecoveryAction::UseHttp, failure) => {
                    self.record(&failure, action, progress, writer);
                    return WebSocketOutcome::UseHttp;
                }
                (action @ RecoveryAction::Fail, failure @ AttemptError::Connection { .. }) => {
                    self.record(&failure, action, progress, writer);
                    return WebSocketOutcome::Broken(failure.into_error());
                }
                (RecoveryAction::Fail, failure @ AttemptError::Service { .. }) => {
                    return WebSocketOutcome::Failed(failure.into_error());
                }
            }
        }
    }

    async fn attempt(
        &self,
        progress: &mut AttemptProgress,
        writer: &mut StreamWriter,
    ) -> Result<(), AttemptError> {
        writer.set_phase(StreamPhase::Connecting);
        let (lease, pooled) = self.pool.lease(self.key.clone()).await;
        progress.reused = pooled.is_some();
        let mut connection = match pooled {
            Some(connection) => connection,
            None => Connection::new(self.open().await?),
        };
        let body = if self.sends_continuations() {
            connection.continuation.request_for(self.body)
        } else {
            self.body.clone()
        };
        self.send(&mut connection, body).await?;
        writer.set_phase(StreamPhase::Waiting);
        self.receive(&mut connection, progress, writer).await?;
        if self.sends_continuations() {
            self.store_exchange(&mut connection, writer);
        }
        lease.release(connection);
        Ok(())
    }

    async fn open(&self) -> Result<O::Socket, ProviderError> {
        let target = SocketTarget {
            url: &self.url,
            headers: self.headers.clone(),
            limit: self.request.options.timeouts.websocket_connect,
        };
        let env = self.request.environment();
        self.opener.open(self.http, target, &env).await
    }

    async fn send(
        &self,
        connection: &mut Connection<O::Socket>,
        body: JsonObject,
    ) -> Result<(), ProviderError> {
        let sending = connection.socket.send(create_frame(body));
        match self.request.options.timeouts.first_byte {
            None => sending.await,
            Some(limit) => tokio::time::timeout(limit, sending)
                .await
                .unwrap_or_else(|_elapsed| {
                    let seconds = limit.as_secs();
                    Err(ProviderError::network(format!(
                        "WebSocket error: sending the request timed out after {seconds} seconds"
                    )))
                }),
        }
    }

    /// Whether later requests of the session send only new items.
    fn sends_continuations(&self) -> bool {
        match self.request.options.transport {
            TransportPreference::Auto | TransportPreference::WebsocketCached => true,
            TransportPreference::Websocket | TransportPreference::Sse => false,
        }
    }

    async fn receive(
        &self,
        connection: &mut Connection<O::Socket>,
        progress: &mut AttemptProgress,
        writer: &mut StreamWriter,
    ) -> Result<(), AttemptError> {
        let timeouts = self.request.options.timeouts;
        let mut reader = EventReader::new(request::reader_settings(self.request));
        let mut limit: Option<Duration> = timeouts.first_byte;
        let mut budget = TransportBudget::new(timeouts.idle);
        loop {
            let event = match connection.socket.receive(limit).await? {
                WebSocketMessage::Text(event) => event,
                WebSocketMessage::Closed { code, reason } => {
                    return Err(close_error(code, &reason));
                }
            };
            limit = timeouts.idle;
            budget.receive(event.len()).map_err(service_error)?;
            let outcome = reader.handle_event(&event, writer.message());
            let status = outcome.map_err(|error| AttemptError::Service {
                code: reader.error_code().map(str::to_owned),
                error,
            })?;
            if !progress.response_started {
                progress.response_started = true;
                writer.set_phase(StreamPhase::Receiving);
                writer.message().start();
            }
            let has_content = writer.message().has_events();
            writer.flush().await;
            let checked = writer.check_budget();
            let checked = checked.and_then(|()| budget.check_time(has_content));
            checked.map_err(service_error)?;
            if status == DecodeStatus::Complete {
                return Ok(());
            }
        }
    }

    /// Stores the exchange as the service does: the request, and the response items in the form in
    /// which they will be replayed.
    fn store_exchange(&self, connection: &mut Connection<O::Socket>, writer: &mut StreamWriter) {
        let compat = request::compat(self.request);
        let Ok(properties) = grammar_properties(&self.request.messages, &compat) else {
            return;
        };
        let builder = input_builder(self.request, &compat, request::RULES, &properties);
        let (response_id, items) = writer.message().read(|message| {
            let items = builder.assistant_items(message, 0);
            (message.response_id.clone(), items)
        });
        match (response_id, items) {
            (Some(id), Ok(items)) => connection.continuation.store(self.body, &id, items),
            _ => connection.continuation.clear(),
        }
    }

    /// Records a failed connection in the message's diagnostics.
    fn record(
        &self,
        failure: &AttemptError,
        action: RecoveryAction,
        progress: AttemptProgress,
        writer: &mut StreamWriter,
    ) {
        let (error, code) = match failure {
            AttemptError::Service { error, code } => (error, code.clone().map(Value::from)),
            AttemptError::Connection { error, close_code } => (error, close_code.map(Value::from)),
        };
        let mut details = JsonObject::new();
        details.insert(
            "configuredTransport".into(),
            json!(self.request.options.transport),
        );
        if action == RecoveryAction::UseHttp {
            details.insert("fallbackTransport".into(), "sse".into());
        }
        let phase = if progress.response_started {
            "after_message_stream_start"
        } else {
            "before_message_stream_start"
        };
        details.insert("eventsEmitted".into(), progress.response_started.into());
        details.insert("phase".into(), phase.into());
        let size = value_to_string(&Value::Object(self.body.clone())).len();
        details.insert("requestBytes".into(), size.into());
        let diagnostic = Diagnostic {
            kind: "provider_transport_failure".into(),
            timestamp: self.request.env.now_ms(),
            error: Some(DiagnosticError {
                name: Some("WebSocketError".into()),
                message: error.message.clone(),
                code,
                ..DiagnosticError::default()
            }),
            details: Some(details),
        };
        writer.message().update(|message| {
            let diagnostics = message.diagnostics.get_or_insert_with(Vec::new);
            diagnostics.push(diagnostic);
        });
    }
}

async fn handshake_headers(request: &ModelRequest, account: &CodexAccount) -> HeaderOverrides {
    let mut headers = request::websocket_headers(request, account);
    let model_headers = request.model.headers.iter().flatten();
    let model_headers = model_headers.map(|(name, value)| (name.clone(), Some(value.clone())));
    for (name, value) in model_headers.chain(request.options.headers.clone()) {
        headers.insert(name.to_ascii_lowercase(), value);
    }
    if let Some(hooks) = &request.options.hooks {
        headers = hooks.on_headers(headers, &request.model).await;
    }
    headers.retain(|name, _| {
        !BODY_HEADERS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    });
    headers
}

fn create_frame(body: JsonObject) -> String {
    let mut frame = JsonObject::new();
    frame.insert("type".into(), "response.create".into());
    frame.extend(body);
    value_to_string(&Value::Object(frame))
}

/// A response beyond its limits; another connection would receive the same.
fn service_error(error: ProviderError) -> AttemptError {
    AttemptError::Service { error, code: None }
}

fn close_error(code: u16, reason: &str) -> AttemptError {
    /// Close code for a message larger than the service accepts.
    const MESSAGE_TOO_BIG: u16 = 1009;
    let reason = match (reason, code) {
        ("", MESSAGE_TOO_BIG) => " (message too big)".to_owned(),
        ("", _) => String::new(),
        (reason, _) => format!(" ({reason})"),
    };
    AttemptError::Connection {
        error: ProviderError::network(format!(
            "WebSocket closed by the service with code {code}{reason} before the response was complete"
        )),
        close_code: Some(code),
    }
}
