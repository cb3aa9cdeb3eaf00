//! pi's own messages, as a gateway serves them.
//!
//! The transcript is sent as it is, and the answer is a stream of our own events, so there is
//! nothing to convert: the gateway applies the rules of the model behind it.

mod decode;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::decode::PiDecoder;
use super::{
    BodyEncoding, Decoder, HttpExchange, HttpProtocol, RetrySupport, http_error, missing_key,
    to_tree,
};
use crate::error::ProviderError;
use crate::json::JsonObject;
use crate::message::{Diagnostic, DiagnosticError};
use crate::options::{CacheRetention, HeaderOverrides, ModelRequest, ResponseHead};
use crate::thinking::ThinkingLevel;

/// The version of the details that a refused request leaves in the message.
const DIAGNOSTIC_VERSION: u64 = 1;

/// pi's own message protocol.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PiMessages;

impl HttpProtocol for PiMessages {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let Some(key) = &request.options.api_key else {
                return Err(missing_key(request));
            };
            let messages = to_tree(&request.messages)?;
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
                    "options": options(request),
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
        let mut error = http_error::refused(head, body);
        if let Some(refusal) = Refusal::read(body)
            && let Some(text) = refusal.text("message")
        {
            let code = refusal.text("code").map(|code| format!(" ({code})"));
            error.message = format!(
                "{}: {text}{}",
                http_error::status_line(head.status),
                code.unwrap_or_default()
            );
        }
        error
    }

    /// The gateway retries what is behind it by itself.
    fn retries(&self) -> RetrySupport {
        RetrySupport::Never
    }

    fn diagnose(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: Option<&str>,
    ) -> Option<Diagnostic> {
        let body = body?;
        let now = request.env.now_ms();
        let refusal = Refusal::read(body);
        let mut details = JsonObject::new();
        let mut set = |name: &str, value: Value| details.insert(name.to_owned(), value);
        set("version", DIAGNOSTIC_VERSION.into());
        set("provider", request.model.provider.clone().into());
        set("model", request.model.id.clone().into());
        set("url", url(request).into());
        set("status", head.status.into());
        let status_name = http_error::status_name(head.status).unwrap_or_default();
        set("statusText", status_name.into());
        match &refusal {
            Some(refusal) => set("error", refusal.error.clone().into()),
            None => set("body", http_error::shortened(body).into()),
        };
        set("timestampMs", now.into());
        Some(Diagnostic {
            kind: "pi_messages_response_failure".to_owned(),
            timestamp: now,
            error: Some(DiagnosticError {
                name: Some("PiMessagesResponseError".to_owned()),
                message: self.error(head, body).message,
                stack: None,
                code: refusal.and_then(|refusal| Some(refusal.text("code")?.into())),
            }),
            details: Some(details),
        })
    }
}

fn url(request: &ModelRequest) -> String {
    let base = request.model.base_url.trim_end_matches('/');
    let wants_debug = request
        .options
        .provider_option("debug")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let query = if wants_debug { "?debug=1" } else { "" };
    format!("{base}/messages{query}")
}

/// Returns the options that were set; the gateway has its own defaults for the others.
fn options(request: &ModelRequest) -> JsonObject {
    let asked = &request.options;
    let cache_retention = match request.cache_retention() {
        CacheRetention::Long => Some("long"),
        retention if asked.cache_retention.is_some() => match retention {
            CacheRetention::None => Some("none"),
            CacheRetention::Short | CacheRetention::Long => Some("short"),
        },
        CacheRetention::None | CacheRetention::Short => None,
    };
    let reasoning = (asked.reasoning != ThinkingLevel::Off).then(|| asked.reasoning.as_str());
    let fields = [
        ("temperature", asked.temperature.map(Value::from)),
        ("maxTokens", asked.max_tokens.map(Value::from)),
        ("reasoning", reasoning.map(Value::from)),
        ("cacheRetention", cache_retention.map(Value::from)),
        ("sessionId", asked.session_id.clone().map(Value::from)),
        ("toolChoice", asked.tool_choice_value()),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Map<_, _>>()
}

/// The body of a refusal, where it is the gateway's own.
#[derive(Debug, Deserialize)]
struct Refusal {
    error: JsonObject,
}

impl Refusal {
    fn read(body: &str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.error.get(field)?.as_str()
    }
}
