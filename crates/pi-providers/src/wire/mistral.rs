//! Mistral's chat API.
//!
//! Similar to Chat Completions, but with tool-call IDs of nine characters, thinking as a kind of
//! content, and two ways to request it.

mod chunk;
mod decode;
mod request;
#[cfg(test)]
mod tests;

use std::future::ready;

use futures_util::future::BoxFuture;
use pi_http::ResponseHead;
use pi_protocol::ProviderError;

use super::{Decoder, HttpExchange, HttpProtocol, TransportRetry, http_error};
use crate::options::ModelRequest;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MistralConversations;

impl HttpProtocol for MistralConversations {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(ready(request::build(request)))
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(decode::MistralDecoder::default())
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        http_error::response_error(head, body)
    }

    /// As in the TypeScript pi: the agent's own retry handles it.
    fn transport_retry(&self) -> TransportRetry {
        TransportRetry::Never
    }
}
