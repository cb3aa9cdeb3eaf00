//! The wire protocols: for each API, how a request is built and how its answer is decoded.
//!
//! A protocol does no I/O. It describes the request ([`HttpExchange`]) and turns bytes into message
//! events ([`Decoder`]); [`crate::transport`] connects, retries, times out and cancels. Vendor
//! structs never leave their file.

pub(crate) mod anthropic_messages;
pub(crate) mod azure_responses;
pub(crate) mod bedrock_converse;
pub(crate) mod chat_stream;
pub(crate) mod codex_responses;
pub(crate) mod copilot;
pub(crate) mod google_content;
pub(crate) mod google_generative;
pub(crate) mod google_vertex;
#[cfg(test)]
mod handoff_matrix;
pub(crate) mod http_error;
pub(crate) mod mistral;
pub(crate) mod openai_completions;
pub(crate) mod openai_error;
pub(crate) mod openai_responses;
pub(crate) mod pi_messages;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;

use crate::error::ProviderError;
use crate::live_message::MessageBuilder;
use crate::message::Diagnostic;
use crate::options::{HeaderOverrides, ModelRequest, ResponseHead};
use crate::transport::HttpClient;

/// Headers that authorize a request to services of OpenAI's family by themselves.
pub(crate) const AUTHORIZATION_HEADERS: [&str; 2] = ["authorization", "cf-aig-authorization"];

/// Describes a request whose service wants a key, and that has none.
pub(crate) fn missing_key(request: &ModelRequest) -> ProviderError {
    ProviderError::auth(format!(
        "No API key for provider {}",
        request.model.provider
    ))
}

/// Writes a part of a request as a tree.
pub(crate) fn to_tree(part: &(impl Serialize + ?Sized)) -> Result<Value, ProviderError> {
    serde_json::to_value(part).map_err(|error| not_encoded(&error))
}

fn not_encoded(error: &serde_json::Error) -> ProviderError {
    ProviderError::invalid(format!("The request cannot be encoded: {error}"))
}

/// A wire API as the transport sees it. One copy of the transport serves all of them, so the futures are boxed.
pub(crate) trait HttpProtocol: Send + Sync + 'static {
    /// Builds the request. A retry sends the same exchange again, with a fresh decoder.
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>>;

    /// Creates the decoder of one answer.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;

    /// Words and classifies an answer that is not a success.
    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError;

    /// Says when `start` is told; most APIs do so with the response headers.
    fn starts_with_headers(&self) -> bool {
        true
    }

    /// Signs the request as it is about to leave, after hooks and user headers; most APIs do
    /// nothing here. The transport calls it before every attempt, since a signature grows old.
    fn sign<'a>(
        &'a self,
        request: &'a ModelRequest,
        outgoing: &'a mut OutgoingRequest,
        http: &'a HttpClient,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let _ = (request, outgoing, http);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Says how a request that failed before its answer began may be sent again.
    fn retries(&self) -> RetrySupport {
        RetrySupport::default()
    }

    /// Returns whether an answer that is no success may be followed by another attempt.
    fn may_retry(&self, head: &ResponseHead, body: &str) -> bool {
        let _ = body;
        crate::transport::asks_for_retry(head)
    }

    /// Returns how often a refused request is retried even when the options ask for less.
    fn least_retries(&self) -> u32 {
        0
    }

    /// Returns what a failed message shall record beside its text. The transport calls it once,
    /// when the message ends in an error after the service had answered; `body` is the text of an
    /// answer that was no success.
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

/// How a request that failed before its answer began may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RetrySupport {
    /// As often as the options say, after the wait the service asks for.
    #[default]
    Heeding,
    /// As often as the options say, after a wait of our own, whatever the service asks for.
    Unheeding,
    Never,
}

/// A request with everything that a signature covers. Headers hold credentials: no `Debug`.
#[derive(Clone)]
pub(crate) struct OutgoingRequest {
    pub url: String,
    /// All headers but those the connection adds.
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A request, ready to send but for hooks, user headers and signing.
#[derive(Clone)]
pub(crate) struct HttpExchange {
    pub url: String,
    /// The protocol's own headers. The model's and the caller's are laid over them.
    pub headers: HeaderOverrides,
    /// The body, before hooks.
    pub body: RequestBody,
    /// How the body is encoded.
    pub encoding: BodyEncoding,
}

/// The JSON of a request.
///
/// Most of it is the conversation, whose text would be copied once more into a tree only to be
/// written from there; protocols with typed bodies write it at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestBody {
    Tree(Value),
    /// As it is sent.
    Written(Vec<u8>),
}

/// How long the last typed body was. The next one is most often that of the same conversation with a turn more:
/// room of a size that repeats is memory the process still has, where growing room is asked of the system anew.
static LAST_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// The longest body that room is made for at once.
const MOST_EXPECTED: usize = 8 * 1024 * 1024;

impl RequestBody {
    /// Writes a typed body.
    pub(crate) fn write(body: &impl Serialize) -> Result<Self, ProviderError> {
        let expected = LAST_LENGTH.load(Ordering::Relaxed).next_power_of_two();
        let mut bytes = Vec::with_capacity(expected.min(MOST_EXPECTED));
        crate::json::write(&mut bytes, body).map_err(|error| not_encoded(&error))?;
        LAST_LENGTH.store(bytes.len(), Ordering::Relaxed);
        Ok(Self::Written(bytes))
    }

    /// Returns the body as hooks see it.
    pub(crate) fn into_tree(self) -> Value {
        match self {
            Self::Tree(tree) => tree,
            // We wrote it ourselves, so it reads; a service would refuse `null`.
            Self::Written(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        }
    }

    /// Returns the body as it is sent.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Tree(tree) => crate::json::value_to_string(&tree).into_bytes(),
            Self::Written(bytes) => bytes,
        }
    }
}

impl From<Value> for RequestBody {
    fn from(tree: Value) -> Self {
        Self::Tree(tree)
    }
}

/// Headers hold credentials and are not shown.
impl fmt::Debug for HttpExchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpExchange")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// How a request body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BodyEncoding {
    #[default]
    Json,
    /// JSON, compressed with zstd.
    Zstd,
}

/// Whether a decoder wants more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More bytes may follow.
    More,
    /// The answer is complete; the rest of the body does not matter.
    Complete,
}

/// Turns the bytes of an answer into message events, whatever the split.
pub(crate) trait Decoder: Send {
    /// Takes the next bytes.
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<Progress, ProviderError>;

    /// Takes the end of the body. An answer that is not complete is an error.
    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError>;
}
