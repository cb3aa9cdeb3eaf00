//! OpenAI's Chat Completions API and the many services compatible with it.
//!
//! Deviations of the services are resolved once per request ([`compat`]); the other files
//! encode the body and decode the response.

mod cache;
mod chunk;
mod compat;
mod decode;
mod headers;
mod messages;
mod reasoning_details;
mod request;
#[cfg(test)]
mod tests;
mod thinking;
mod tools;

use std::future::ready;

use futures_util::future::BoxFuture;
use pi_http::ResponseHead;
use pi_protocol::ProviderError;

use super::{Decoder, HttpExchange, HttpProtocol, openai_error};
use crate::options::ModelRequest;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenAiCompletions;

impl HttpProtocol for OpenAiCompletions {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(ready(request::build(request)))
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(decode::CompletionsDecoder::new(request))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        openai_error::response_error(head, body)
    }
}
