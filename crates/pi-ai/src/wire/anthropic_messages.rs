//! Anthropic's Messages API, and the services compatible with it.
//!
//! Here: where a request goes, how it authenticates, which betas it asks for, and what refusals
//! mean. The body is built in `request` and `conversation`, the answer is read in `decode`.

mod compat;
mod conversation;
mod decode;
mod events;
mod request;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::decode::REDACTED_THINKING;

use self::compat::Compat;
use self::decode::MessagesDecoder;
use self::request::Thinking;
use super::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, copilot, http_error, missing_key};
use crate::error::{ErrorClass, ProviderError};
use crate::options::{CacheRetention, HeaderOverrides, ModelRequest, ResponseHead};
use crate::transcript;

const API_VERSION: &str = "2023-06-01";

/// The mark of tokens that a sign-in gave; they are sent as bearer tokens.
const OAUTH_TOKEN_MARK: &str = "sk-ant-oat";

const BETA_HEADER: &str = "anthropic-beta";

/// Headers that authenticate a request without a key of ours.
const AUTH_HEADERS: [&str; 3] = ["authorization", "x-api-key", "cf-aig-authorization"];

mod beta {
    /// Bearer tokens of a sign-in.
    pub(super) const OAUTH: &str = "oauth-2025-04-20";
    /// Tool arguments as they are sampled, for services without the per-tool switch.
    pub(super) const FINE_GRAINED_TOOL_STREAMING: &str = "fine-grained-tool-streaming-2025-05-14";
    /// Thinking between tool calls, for models that think by budget.
    pub(super) const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";
    /// Another model answers where the asked one refuses.
    pub(super) const SERVER_SIDE_FALLBACK: &str = "server-side-fallback-2026-07-01";
    /// Efforts in the history.
    pub(super) const EFFORT_IN_HISTORY: &str = "mid-conversation-output-config-2026-07-01";
    /// Thinking that no longer fits its prefix is dropped.
    pub(super) const THINKING_BINDING: &str = "thinking-binding-controls-2026-08-01";
    /// Tools that come and go in the conversation.
    pub(super) const TOOL_CHANGES: &str = "mid-conversation-tool-changes-2026-07-01";
}

/// The Messages API.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnthropicMessages;

impl HttpProtocol for AnthropicMessages {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let compat = Compat::of(&request.model);
            Ok(HttpExchange {
                url: format!(
                    "{}/v1/messages?beta=true",
                    request.model.base_url.trim_end_matches('/')
                ),
                headers: headers(request, &compat)?,
                body: request::body(request, &compat)?,
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new(request))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        let mut error = http_error::refused(head, &http_error::compacted(body));
        if let Some(class) = ErrorReport::class_in(body)
            // The status knows how long to wait.
            && !matches!(error.class, ErrorClass::RateLimited { .. })
        {
            error.class = class;
        }
        http_error::with_overflow(error)
    }
}

/// How a request authenticates.
#[derive(Debug, Clone, Copy)]
enum Credential<'request> {
    Key(&'request SecretString),
    Bearer(&'request SecretString),
    SignIn(&'request SecretString),
    /// The model's or the caller's headers do it.
    Headers,
}

impl<'request> Credential<'request> {
    fn of(request: &'request ModelRequest) -> Result<Self, ProviderError> {
        match &request.options.api_key {
            Some(token) if request.model.provider == copilot::PROVIDER => Ok(Self::Bearer(token)),
            Some(token) if token.expose_secret().contains(OAUTH_TOKEN_MARK) => {
                Ok(Self::SignIn(token))
            }
            Some(key) => Ok(Self::Key(key)),
            None if request.sends_any_header(&AUTH_HEADERS) => Ok(Self::Headers),
            None => Err(missing_key(request)),
        }
    }
}

fn headers(request: &ModelRequest, compat: &Compat) -> Result<HeaderOverrides, ProviderError> {
    let credential = Credential::of(request)?;
    let mut headers = HeaderOverrides::new();
    let mut set = |name: &str, value: String| headers.insert(name.to_owned(), Some(value));
    set("accept", "application/json".to_owned());
    set("anthropic-version", API_VERSION.to_owned());
    match credential {
        Credential::Key(key) => {
            set("x-api-key", key.expose_secret().to_owned());
        }
        Credential::Bearer(token) | Credential::SignIn(token) => {
            set("authorization", format!("Bearer {}", token.expose_secret()));
        }
        Credential::Headers => {}
    }
    let betas = betas(request, compat, credential);
    if !betas.is_empty() && !request.configures_header(BETA_HEADER) {
        set(BETA_HEADER, betas.join(","));
    }
    if let Some((name, session)) = session_affinity(request, compat, credential) {
        set(name, session.to_owned());
    }
    if request.model.provider == copilot::PROVIDER {
        headers.extend(copilot::headers(&request.messages));
    }
    Ok(headers)
}

fn betas(request: &ModelRequest, compat: &Compat, credential: Credential<'_>) -> Vec<&'static str> {
    let interleaved = request
        .options
        .provider_option("interleavedThinking")
        .and_then(Value::as_bool)
        .unwrap_or(true);
    let thinks_by_budget = matches!(Thinking::of(request, compat), Thinking::Budget);
    let has_tools = || !transcript::current_tools(&request.messages).is_empty();
    let wanted = [
        (matches!(credential, Credential::SignIn(_)), beta::OAUTH),
        (
            !compat.eager_tool_input && has_tools(),
            beta::FINE_GRAINED_TOOL_STREAMING,
        ),
        (thinks_by_budget && interleaved, beta::INTERLEAVED_THINKING),
        (!compat.fallbacks.is_empty(), beta::SERVER_SIDE_FALLBACK),
        (compat.effort_in_history, beta::EFFORT_IN_HISTORY),
        (compat.effort_in_history, beta::THINKING_BINDING),
        (
            request::changes_tools_in_place(request, compat),
            beta::TOOL_CHANGES,
        ),
    ];
    wanted
        .into_iter()
        .filter_map(|(is_wanted, name)| is_wanted.then_some(name))
        .collect()
}

/// Returns the header that leads a session to the same machine, and so to its cache.
fn session_affinity<'request>(
    request: &'request ModelRequest,
    compat: &Compat,
    credential: Credential<'_>,
) -> Option<(&'static str, &'request str)> {
    let caches = request.cache_retention() != CacheRetention::None;
    let is_own_service = matches!(credential, Credential::Bearer(_) | Credential::SignIn(_));
    let header = compat
        .affinity_header
        .filter(|_| caches && !is_own_service)?;
    Some((header, request.options.session_id.as_deref()?))
}

/// An error as the service reports it, in a refusal's body or as an event.
#[derive(Debug, Deserialize)]
struct ErrorReport {
    error: ReportedError,
}

#[derive(Debug, Deserialize)]
struct ReportedError {
    #[serde(rename = "type")]
    kind: String,
}

impl ErrorReport {
    /// Returns the class of a reported error, where its type is one we know.
    fn class_in(report: &str) -> Option<ErrorClass> {
        let Self { error } = serde_json::from_str(report).ok()?;
        match error.kind.as_str() {
            "authentication_error" | "permission_error" => Some(ErrorClass::Auth),
            "billing_error" => Some(ErrorClass::Quota),
            "rate_limit_error" => Some(ErrorClass::RateLimited { retry_after: None }),
            "overloaded_error" | "api_error" | "timeout_error" => Some(ErrorClass::Overloaded),
            "request_too_large" => Some(ErrorClass::ContextOverflow),
            "invalid_request_error" | "not_found_error" => Some(ErrorClass::InvalidRequest),
            _ => None,
        }
    }
}
