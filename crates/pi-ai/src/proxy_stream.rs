//! A client for a proxy server that speaks to the provider in our place.
//!
//! The server holds the credentials: the whole request goes to it as it is, and what comes back are
//! our own events without the message so far, which is rebuilt here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::error::ProviderError;
use crate::json::JsonObject;
use crate::message::Message;
use crate::model::Model;
use crate::options::{
    CacheRetention, HeaderOverrides, ModelRequest, ResponseHead, StreamOptions, TransportPreference,
};
use crate::stream::AssistantStream;
use crate::thinking::{ThinkingBudgets, ThinkingLevel};
use crate::transport::{self, HttpClient, classify_status};
use crate::wire::pi_messages::PiDecoder;
use crate::wire::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, RequestBody};

/// A server that speaks to providers in our place.
#[derive(Debug, Clone)]
pub struct ProxyServer {
    /// Where it is; requests go to `<url>/api/stream`.
    pub url: String,
    /// What we authenticate with at the server.
    pub auth_token: SecretString,
}

/// Asks a model through a proxy server, with the guarantees of any stream.
///
/// Key, headers and environment of the request are the provider's business: the key is not sent at
/// all, the headers only inside the request. Hooks see nothing, since the server makes the payload.
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
    let protocol = ThroughProxy {
        server,
        asked: request,
    };
    transport::stream(protocol, to_server, http)
}

struct ThroughProxy {
    server: ProxyServer,
    asked: ModelRequest,
}

impl HttpProtocol for ThroughProxy {
    fn prepare<'a>(
        &'a self,
        _request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let token = self.server.auth_token.expose_secret();
            let body = RequestBody::write(&ProxyRequest {
                model: &self.asked.model,
                context: Context {
                    messages: &self.asked.messages,
                },
                options: ProxyOptions::new(&self.asked.options),
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
        struct Refusal {
            error: String,
        }

        let words = match serde_json::from_str(body) {
            Ok(Refusal { error }) => error,
            Err(_) => body.to_owned(),
        };
        let message = format!("The proxy refused the request: {} {words}", head.status);
        ProviderError::new(classify_status(head, body), message.trim_end()).with_status(head.status)
    }
}

/// What is sent to the server.
#[derive(Debug, Serialize)]
struct ProxyRequest<'request> {
    model: &'request Model,
    context: Context<'request>,
    options: ProxyOptions<'request>,
}

#[derive(Debug, Serialize)]
struct Context<'request> {
    messages: &'request [Message],
}

/// The options a proxy server understands; those not set are left to it.
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
