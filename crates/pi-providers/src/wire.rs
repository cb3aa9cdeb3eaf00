//! Wire protocols: for each API, how a request is encoded and how its response is decoded.
//!
//! A protocol does no I/O. It describes the request ([`HttpExchange`]) and turns bytes into message
//! events ([`Decoder`]); the module `run` connects, retries, times out and cancels. Vendor structs
//! stay private to their file. Another crate adds an API by implementing [`HttpProtocol`] and
//! passing it as a [`WireApi`] to [`crate::ModelsOptions`].

pub(crate) mod anthropic_messages;
mod azure;
pub(crate) mod azure_responses;
pub(crate) mod chat_stream;
pub(crate) mod codex_responses;
pub(crate) mod copilot;
pub(crate) mod google_content;
pub(crate) mod google_generative;
pub(crate) mod google_vertex;
pub mod http_error;
pub(crate) mod mistral;
pub(crate) mod openai_completions;
pub(crate) mod openai_error;
pub(crate) mod openai_responses;
mod openrouter;
pub(crate) mod pi_messages;
#[cfg(any(test, feature = "test-support"))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed setup must fail the test, also that of another crate"
)]
pub mod testing;
mod wire_api;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use pi_http::{HeaderOverrides, HttpClient, ResponseHead, SseParser};
use pi_protocol::{Diagnostic, MessageBuilder, ProviderError};
use serde::Serialize;
use serde_json::Value;

use crate::options::ModelRequest;

pub use anthropic_messages::REDACTED_THINKING;
pub use wire_api::WireApi;

/// Headers that authorize a request to OpenAI-compatible services, so no API key is needed.
pub(crate) const AUTHORIZATION_HEADERS: [&str; 2] = ["authorization", "cf-aig-authorization"];

/// Error for a request to a service that requires an API key, without one.
pub(crate) fn missing_api_key(request: &ModelRequest) -> ProviderError {
    ProviderError::auth(format!(
        "No API key for provider {}",
        request.model.provider
    ))
}

/// Encodes a part of a request as a JSON value.
pub fn to_json_value(part: &(impl Serialize + ?Sized)) -> Result<Value, ProviderError> {
    serde_json::to_value(part).map_err(|error| encode_error(&error))
}

fn encode_error(error: &serde_json::Error) -> ProviderError {
    ProviderError::invalid(format!("Cannot encode the request: {error}"))
}

/// Splits a response into the events that the provider sent.
pub trait StreamEventParser: Send {
    /// Consumes the next bytes and returns the events they complete.
    fn parse(&mut self, bytes: &[u8]) -> Result<Vec<Value>, ProviderError>;
}

/// A wire API as seen by the transport. Futures are boxed so that one copy of the transport serves all of them.
pub trait HttpProtocol: Send + Sync + 'static {
    /// Builds the request. A retry sends the same exchange again, with a new decoder.
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>>;

    /// Creates the decoder for one response.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;

    /// Creates the parser of one response for hooks; server-sent events by default.
    fn stream_event_parser(&self) -> Box<dyn StreamEventParser> {
        Box::new(SseParser::new())
    }

    /// Builds and classifies the error for a failed response.
    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError;

    /// Whether `start` is emitted with the response headers, as for most APIs.
    fn starts_with_headers(&self) -> bool {
        true
    }

    /// Signs the request just before it is sent, after hooks and user headers; a no-op for most
    /// APIs. The transport calls it before every attempt, since signatures expire.
    fn sign<'a>(
        &'a self,
        request: &'a ModelRequest,
        outgoing: &'a mut OutgoingRequest,
        http: &'a HttpClient,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let _ = (request, outgoing, http);
        Box::pin(std::future::ready(Ok(())))
    }

    /// How the transport retries a request that failed before its response began.
    fn transport_retry(&self) -> TransportRetry {
        TransportRetry::default()
    }

    /// Whether a failed response may be retried.
    fn may_retry(&self, head: &ResponseHead, body: &str) -> bool {
        let _ = body;
        pi_http::retry::is_retryable(head)
    }

    /// Minimum number of retries, even if the options set fewer.
    fn min_retries(&self) -> u32 {
        0
    }

    /// Returns a request to send in place of one that the service rejected, and the diagnostic to
    /// record in its message. The transport sends it once.
    fn fallback(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: &str,
    ) -> Option<(ModelRequest, Diagnostic)> {
        let _ = (request, head, body);
        None
    }

    /// Returns a diagnostic to record in a failed message. The transport calls it once, when the
    /// message ends in an error after the service responded; `body` is the body of a failed
    /// response.
    fn diagnose(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: Option<&str>,
    ) -> Option<Diagnostic> {
        let _ = (request, head, body);
        None
    }
}

/// How the transport retries a request that failed before its response began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransportRetry {
    /// Up to the configured count, after the delay requested by the service.
    #[default]
    HonorRetryAfter,
    /// Up to the configured count, with our own backoff regardless of `retry-after`.
    IgnoreRetryAfter,
    Never,
}

/// A request with everything a signature covers. Headers hold credentials, so there is no `Debug`.
#[derive(Clone)]
pub struct OutgoingRequest {
    pub url: String,
    /// All headers except those added by the connection.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A prepared request, before hooks, user headers and signing.
#[derive(Clone)]
pub struct HttpExchange {
    pub url: String,
    /// The protocol's own headers. Those of the model and the caller are merged over them.
    pub headers: HeaderOverrides,
    /// The body, before hooks.
    pub body: RequestBody,
    pub encoding: BodyEncoding,
}

/// The JSON body of a request.
///
/// Most of it is the conversation. Building a [`Value`] first would copy that text once more, so
/// protocols with typed bodies encode directly.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestBody {
    Value(Value),
    /// Encoded JSON, as sent.
    Encoded(Vec<u8>),
}

/// Length of the last typed body. The next one is usually the same conversation plus a turn:
/// an allocation of the same size class is reused, while a growing buffer is requested from the system again.
static LAST_BODY_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Limit for the initial capacity of a body.
const MAX_INITIAL_CAPACITY: usize = 8 * 1024 * 1024;

impl RequestBody {
    /// Encodes a typed body.
    pub fn write(body: &impl Serialize) -> Result<Self, ProviderError> {
        let expected = LAST_BODY_LENGTH.load(Ordering::Relaxed).next_power_of_two();
        let mut bytes = Vec::with_capacity(expected.min(MAX_INITIAL_CAPACITY));
        pi_protocol::json::write(&mut bytes, body).map_err(|error| encode_error(&error))?;
        LAST_BODY_LENGTH.store(bytes.len(), Ordering::Relaxed);
        Ok(Self::Encoded(bytes))
    }

    /// Returns the body as passed to hooks.
    pub fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            // We encoded it ourselves, so it parses; a service would reject `null`.
            Self::Encoded(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        }
    }

    /// Returns the body as sent.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Value(value) => pi_protocol::json::value_to_string(&value).into_bytes(),
            Self::Encoded(bytes) => bytes,
        }
    }
}

impl From<Value> for RequestBody {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// Leaves out headers, which hold credentials.
impl fmt::Debug for HttpExchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpExchange")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyEncoding {
    #[default]
    Json,
    /// JSON, compressed with zstd.
    Zstd,
}

/// Whether a decoder needs more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeStatus {
    More,
    /// The response is complete; the rest of the body is ignored.
    Complete,
}

/// Turns the bytes of a response into message events, at any split.
pub trait Decoder: Send {
    /// Decodes the next bytes.
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError>;

    /// Ends the body. An incomplete response is an error.
    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError>;
}
