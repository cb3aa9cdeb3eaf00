//! A client for a proxy server that sends requests to providers on our behalf.
//!
//! The server holds the credentials: it receives the complete request and streams back our event
//! format without the partial message, which is rebuilt here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_http::{HeaderOverrides, HttpClient, ResponseHead, classify_status};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    CacheRetention, Message, Model, ProviderError, ThinkingBudgets, ThinkingLevel,
    TransportPreference,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::options::{ModelRequest, StreamOptions};
use crate::run;
use crate::wire::pi_messages::PiDecoder;
use crate::wire::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, RequestBody};
use pi_stream::AssistantStream;

/// A server that sends requests to providers on our behalf.
#[derive(Debug, Clone)]
pub struct ProxyServer {
    /// Base URL; requests go to `<url>/api/stream`.
    pub url: String,
    /// Bearer token for the server itself.
    pub auth_token: SecretString,
}

/// Streams a response through a proxy server, with the guarantees of any stream.
///
/// The request's API key, headers and environment are meant for the provider: the key is never sent,
/// the headers only inside the request. Hooks are not called, since the server builds the payload.
pub fn stream_through_proxy(
    server: ProxyServer,
    request: ModelRequest,
    http: HttpClient,
) -> AssistantStream {
    let to_server = ModelRequest {
        model: Arc::new(Model {
            headers: None,
            ..(*request.model).clone()
        }),
        options: StreamOptions {
            api_key: None,
            headers: HeaderOverrides::new(),
            hooks: None,
            ..request.options.clone()
        },
        ..request.clone()
    };
    let protocol = ProxyProtocol { server, request };
    run::stream(protocol, to_server, http)
}

struct ProxyProtocol {
    server: ProxyServer,
    request: ModelRequest,
}

impl HttpProtocol for ProxyProtocol {
    fn prepare<'a>(
        &'a self,
        _request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let token = self.server.auth_token.expose_secret();
            let body = RequestBody::write(&ProxyRequest {
                model: &self.request.model,
                context: ProxyContext {
                    messages: &self.request.messages,
                },
                options: ProxyOptions::new(&self.request.options),
            })?;
            Ok(HttpExchange {
                url: format!("{}/api/stream", self.server.url.trim_end_matches('/')),
                headers: HeaderOverrides::from([(
                    "authorization".to_owned(),
                    Some(format!("Bearer {token}")),
                )]),
                body,
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(PiDecoder::new(request.env.now_ms()))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        #[derive(Deserialize)]
        struct ProxyError {
            error: String,
        }

        let detail = match serde_json::from_str(body) {
            Ok(ProxyError { error }) => error,
            Err(_) => body.to_owned(),
        };
        let message = format!("The proxy rejected the request: {} {detail}", head.status);
        ProviderError::new(classify_status(head, body), message.trim_end()).with_status(head.status)
    }
}

#[derive(Debug, Serialize)]
struct ProxyRequest<'request> {
    model: &'request Model,
    context: ProxyContext<'request>,
    options: ProxyOptions<'request>,
}

#[derive(Debug, Serialize)]
struct ProxyContext<'request> {
    messages: &'request [Message],
}

/// The options a proxy server understands; unset ones are omitted.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProxyOptions<'options> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_params: Option<&'options JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ThinkingLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_retention: Option<CacheRetention>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'options str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<&'options HeaderOverrides>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'options JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<TransportPreference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budgets: Option<ThinkingBudgets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retry_delay_ms: Option<u64>,
}

impl<'options> ProxyOptions<'options> {
    fn new(options: &'options StreamOptions) -> Self {
        let budgets = options.thinking_budgets;
        Self {
            temperature: options.temperature,
            sampling_params: options.sampling_params.as_ref(),
            max_tokens: options.max_tokens,
            reasoning: (options.reasoning != ThinkingLevel::Off).then_some(options.reasoning),
            cache_retention: options.cache_retention,
            session_id: options.session_id.as_deref(),
            headers: (!options.headers.is_empty()).then_some(&options.headers),
            metadata: options.metadata.as_ref(),
            transport: (options.transport != TransportPreference::Auto)
                .then_some(options.transport),
            thinking_budgets: (budgets != ThinkingBudgets::default()).then_some(budgets),
            max_retry_delay_ms: options
                .max_retry_delay
                .map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}
