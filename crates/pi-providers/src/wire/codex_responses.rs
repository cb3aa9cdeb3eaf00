//! The Responses dialect behind a `ChatGPT` sign-in, over server-sent events or a WebSocket.
//!
//! [`request`] builds the request; the response is decoded as in [`super::openai_responses`].
//! [`CodexResponses`] owns the WebSocket connections that are reused between requests, and tracks
//! which sessions fell back to HTTP.

mod continuation;
mod error;
mod pool;
mod recovery;
mod request;
mod socket;
#[cfg(test)]
mod tests;
mod websocket;

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_http::{HeaderOverrides, HttpClient, ResponseHead};
use pi_protocol::json::JsonObject;
use pi_protocol::{Model, ProviderError, TransportPreference};
use serde_json::Value;

use self::pool::SocketPool;
use self::request::CodexAccount;
use self::socket::{NetworkSockets, SocketOpener};
use self::websocket::{SocketRequest, WebSocketOutcome};
use super::openai_responses::decode::ResponsesDecoder;
use super::openai_responses::request::cached_session_id;
use super::{BodyEncoding, Decoder, HttpExchange, HttpProtocol};
use crate::options::{ModelRequest, RequestHooks};
use crate::request_secrets::{redact_errors, request_secrets};
use crate::run;
use pi_stream::{AssistantStream, StreamWriter};

/// The Codex API with its connection pool; cheap to clone.
#[derive(Debug)]
pub(crate) struct CodexResponses<O: SocketOpener = NetworkSockets>(Arc<CodexInner<O>>);

#[derive(Debug)]
struct CodexInner<O: SocketOpener> {
    opener: O,
    sockets: SocketPool<O::Socket>,
    /// Sessions whose WebSocket failed. They use HTTP for the lifetime of this value: a network that
    /// rejects one upgrade rejects the next, and every attempt costs the user time.
    http_sessions: Mutex<HashSet<String>>,
}

impl<O: SocketOpener> Clone for CodexResponses<O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Default for CodexResponses {
    fn default() -> Self {
        Self::with_opener(NetworkSockets)
    }
}

impl<O: SocketOpener> CodexResponses<O> {
    fn with_opener(opener: O) -> Self {
        Self(Arc::new(CodexInner {
            opener,
            sockets: SocketPool::default(),
            http_sessions: Mutex::default(),
        }))
    }

    /// Streams a response over the preferred transport.
    pub(crate) fn stream(&self, request: ModelRequest, http: HttpClient) -> AssistantStream {
        if self.uses_http(&request) {
            let protocol = CodexHttp::new(&request);
            return run::stream(protocol, request, http);
        }
        let codex = self.clone();
        let model = Arc::clone(&request.model);
        let timestamp = request.env.now_ms();
        AssistantStream::produce(&model, timestamp, |writer| async move {
            codex.drive(request, http, writer).await;
        })
    }

    async fn drive(&self, mut request: ModelRequest, http: HttpClient, mut writer: StreamWriter) {
        let cancel = request.options.cancel.clone();
        redact_errors(&mut writer, &request_secrets(&request));
        let outcome = cancel
            .run_until_cancelled(self.try_websocket(&request, &http, &mut writer))
            .await;
        match outcome {
            None => writer.fail(ProviderError::aborted()).await,
            Some(Err(cause)) => writer.fail(cause).await,
            Some(Ok(None)) => writer.complete().await,
            Some(Ok(Some(body))) => {
                let hooks = request.options.hooks.take();
                request.options.hooks =
                    hooks.map(|hooks| Arc::new(HooksWithoutPayload(hooks)) as _);
                let protocol = CodexHttp {
                    body: Some(body),
                    ..CodexHttp::new(&request)
                };
                run::drive(Arc::new(protocol), request, http, writer).await;
            }
        }
    }

    /// Sends the request over a WebSocket. Returns the body to send over HTTP if that fails early.
    async fn try_websocket(
        &self,
        request: &ModelRequest,
        http: &HttpClient,
        writer: &mut StreamWriter,
    ) -> Result<Option<JsonObject>, ProviderError> {
        let body = body_after_hooks(request).await?;
        let inner = &*self.0;
        let socket_request =
            SocketRequest::new(request, http, &inner.opener, &inner.sockets, &body).await?;
        match socket_request.run(writer).await {
            WebSocketOutcome::Complete => Ok(None),
            WebSocketOutcome::Failed(cause) => Err(cause),
            WebSocketOutcome::Broken(cause) => {
                self.pin_to_http(request);
                Err(cause)
            }
            WebSocketOutcome::UseHttp => {
                self.pin_to_http(request);
                Ok(Some(body))
            }
        }
    }

    fn pin_to_http(&self, request: &ModelRequest) {
        if let Some(session_id) = cached_session_id(request) {
            self.http_sessions().insert(session_id);
        }
    }

    fn uses_http(&self, request: &ModelRequest) -> bool {
        request.options.transport == TransportPreference::Sse
            || cached_session_id(request)
                .is_some_and(|session_id| self.http_sessions().contains(&session_id))
    }

    fn http_sessions(&self) -> MutexGuard<'_, HashSet<String>> {
        // Nothing that can panic runs under the lock.
        self.0.http_sessions.lock()
    }
}

async fn body_after_hooks(request: &ModelRequest) -> Result<JsonObject, ProviderError> {
    let body = request::body(request)?;
    let Some(hooks) = &request.options.hooks else {
        return Ok(body);
    };
    match hooks.on_payload(Value::Object(body), &request.model).await {
        Value::Object(body) => Ok(body),
        _ => Err(ProviderError::invalid(
            "A hook replaced the request body with a value that is not a JSON object",
        )),
    }
}

#[derive(Debug)]
pub(super) struct CodexHttp {
    env: Env,
    /// The body, if hooks have already processed it.
    body: Option<JsonObject>,
}

impl CodexHttp {
    pub(super) fn new(request: &ModelRequest) -> Self {
        Self {
            env: request.env.clone(),
            body: None,
        }
    }
}

impl HttpProtocol for CodexHttp {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let account = CodexAccount::resolve(request)?;
            let body = match &self.body {
                Some(body) => body.clone(),
                None => request::body(request)?,
            };
            Ok(HttpExchange {
                url: request::url(&request.model.base_url),
                headers: request::http_headers(request, &account),
                body: Value::Object(body).into(),
                encoding: BodyEncoding::Zstd,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(request::reader_settings(request)))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        error::response_error(head, body, self.env.now_ms())
    }

    fn may_retry(&self, head: &ResponseHead, body: &str) -> bool {
        pi_http::retry::is_retryable(head) && !error::is_exhausted(head, body)
    }
}

/// The caller's hooks without `on_payload`, which has already been called.
#[derive(Debug)]
struct HooksWithoutPayload(Arc<dyn RequestHooks>);

impl RequestHooks for HooksWithoutPayload {
    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        self.0.on_headers(headers, model)
    }

    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        self.0.on_response(response, model)
    }
}
