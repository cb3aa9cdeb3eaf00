//! pi's own message format, as served by a gateway.
//!
//! The transcript is sent unchanged and the response is a stream of our events, so nothing is
//! converted: the gateway applies the rules of the model behind it.

mod decode;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::json::JsonObject;
use pi_protocol::{CacheRetention, Diagnostic, DiagnosticError, ProviderError, ThinkingLevel};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::decode::PiDecoder;
use super::{
    BodyEncoding, Decoder, HttpExchange, HttpProtocol, TransportRetry, http_error, missing_api_key,
    to_json_value,
};
use crate::options::ModelRequest;

/// The version of the diagnostic details for a failed response.
const DIAGNOSTIC_VERSION: u64 = 1;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PiMessages;

impl HttpProtocol for PiMessages {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let Some(key) = &request.options.api_key else {
                return Err(missing_api_key(request));
            };
            let messages = to_json_value(&request.messages)?;
            Ok(HttpExchange {
                url: url(request),
                headers: HeaderOverrides::from([
                    (
                        "authorization".to_owned(),
                        Some(format!("Bearer {}", key.expose_secret())),
                    ),
                    ("accept".to_owned(), Some("text/event-stream".to_owned())),
                ]),
                body: json!({
                    "model": request.model.id,
                    "context": {"messages": messages},
                    "options": request_options(request),
                })
                .into(),
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(PiDecoder::new(request.env.now_ms()))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        let mut error = http_error::response_error(head, body);
        if let Some(gateway_error) = GatewayError::parse(body)
            && let Some(text) = gateway_error.text("message")
        {
            let code = gateway_error.text("code").map(|code| format!(" ({code})"));
            error.message = format!(
                "{}: {text}{}",
                http_error::status_line(head.status),
                code.unwrap_or_default()
            );
        }
        error
    }

    /// The gateway retries requests to the provider itself.
    fn transport_retry(&self) -> TransportRetry {
        TransportRetry::Never
    }

    fn diagnose(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: Option<&str>,
    ) -> Option<Diagnostic> {
        let body = body?;
        let now = request.env.now_ms();
        let gateway_error = GatewayError::parse(body);
        let mut details = JsonObject::new();
        let mut set = |name: &str, value: Value| details.insert(name.to_owned(), value);
        set("version", DIAGNOSTIC_VERSION.into());
        set("provider", request.model.provider.clone().into());
        set("model", request.model.id.clone().into());
        set("url", url(request).into());
        set("status", head.status.into());
        let status_name = http_error::status_name(head.status).unwrap_or_default();
        set("statusText", status_name.into());
        match &gateway_error {
            Some(gateway_error) => set("error", gateway_error.error.clone().into()),
            None => set("body", http_error::truncated(body).into()),
        };
        set("timestampMs", now.into());
        Some(Diagnostic {
            kind: "pi_messages_response_failure".to_owned(),
            timestamp: now,
            error: Some(DiagnosticError {
                name: Some("PiMessagesResponseError".to_owned()),
                message: self.error(head, body).message,
                stack: None,
                code: gateway_error
                    .and_then(|gateway_error| Some(gateway_error.text("code")?.into())),
            }),
            details: Some(details),
        })
    }
}

fn url(request: &ModelRequest) -> String {
    let base = request.model.base_url.trim_end_matches('/');
    let debug = request
        .options
        .provider_option("debug")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let query = if debug { "?debug=1" } else { "" };
    format!("{base}/messages{query}")
}

/// Returns the options that are set; the gateway has its own defaults for the others.
fn request_options(request: &ModelRequest) -> JsonObject {
    let options = &request.options;
    let cache_retention = match request.cache_retention() {
        CacheRetention::Long => Some("long"),
        retention if options.cache_retention.is_some() => match retention {
            CacheRetention::None => Some("none"),
            CacheRetention::Short | CacheRetention::Long => Some("short"),
        },
        CacheRetention::None | CacheRetention::Short => None,
    };
    let reasoning = (options.reasoning != ThinkingLevel::Off).then(|| options.reasoning.as_str());
    let fields = [
        ("temperature", options.temperature.map(Value::from)),
        ("maxTokens", options.max_tokens.map(Value::from)),
        ("reasoning", reasoning.map(Value::from)),
        ("cacheRetention", cache_retention.map(Value::from)),
        ("sessionId", options.session_id.clone().map(Value::from)),
        ("toolChoice", options.tool_choice_value()),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Map<_, _>>()
}

/// The body of a failed response, in the gateway's format.
#[derive(Debug, Deserialize)]
struct GatewayError {
    error: JsonObject,
}

impl GatewayError {
    fn parse(body: &str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.error.get(field)?.as_str()
    }
}
