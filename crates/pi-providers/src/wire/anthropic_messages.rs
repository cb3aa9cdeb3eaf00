//! Anthropic's Messages API, and the services compatible with it.
//!
//! This file covers the URL, authentication, betas and failed responses. The body is built in
//! `request` and `conversation`, the response is decoded in `decode`.

mod compat;
mod conversation;
mod decode;
mod events;
mod request;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use pi_auth::AnthropicFederation;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::{CacheRetention, Diagnostic, ErrorClass, ProviderError, transcript};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

pub use self::decode::REDACTED_THINKING;

use self::compat::MessagesCompat;
use self::decode::MessagesDecoder;
use self::request::MessagesThinking;
use super::{
    BodyEncoding, Decoder, HttpExchange, HttpProtocol, copilot, http_error, missing_api_key,
};
use crate::constrained_sampling::strict_tools_fallback;
use crate::options::ModelRequest;

const API_VERSION: &str = "2023-06-01";

/// The only provider with workload identity federation.
const FEDERATED_PROVIDER: &str = "anthropic";

/// Substring of OAuth tokens, which are sent as bearer tokens.
const OAUTH_TOKEN_MARKER: &str = "sk-ant-oat";

const BETA_HEADER: &str = "anthropic-beta";

/// Headers that authenticate a request without an API key.
const AUTH_HEADERS: [&str; 3] = ["authorization", "x-api-key", "cf-aig-authorization"];

mod beta {
    pub(super) const OAUTH: &str = "oauth-2025-04-20";
    /// Streams tool arguments as they are sampled, for services without the per-tool flag.
    pub(super) const FINE_GRAINED_TOOL_STREAMING: &str = "fine-grained-tool-streaming-2025-05-14";
    /// Thinking between tool calls, for models with a thinking budget.
    pub(super) const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";
    /// Another model responds if the requested one refuses.
    pub(super) const SERVER_SIDE_FALLBACK: &str = "server-side-fallback-2026-07-01";
    /// Effort changes as part of the history.
    pub(super) const EFFORT_IN_HISTORY: &str = "mid-conversation-output-config-2026-07-01";
    /// Drops thinking that no longer matches its prefix.
    pub(super) const THINKING_BINDING: &str = "thinking-binding-controls-2026-08-01";
    /// Adds and removes tools within the conversation, with their definitions.
    pub(super) const INLINE_TOOLS: &str = "inline-tools-2026-09-15";
}

#[derive(Debug, Clone, Default)]
pub(crate) struct AnthropicMessages {
    /// Authenticates requests to Anthropic that have no other credential.
    federation: Option<AnthropicFederation>,
}

impl AnthropicMessages {
    /// Creates the protocol; clones share the tokens of the federation.
    pub(crate) fn new(federation: AnthropicFederation) -> Self {
        Self {
            federation: Some(federation),
        }
    }

    /// Returns the token of the federation for a request without another credential.
    async fn federated_token(
        &self,
        request: &ModelRequest,
    ) -> Result<Option<SecretString>, ProviderError> {
        let Some(federation) = self.federation.as_ref().filter(|_| {
            request.model.provider == FEDERATED_PROVIDER
                && request.options.api_key.is_none()
                && !request.sends_any_header(&AUTH_HEADERS)
        }) else {
            return Ok(None);
        };
        let env = request.environment();
        let token = federation.token(&request.model.base_url, &env).await;
        token.map_err(|error| {
            let class = if error.is_network() {
                ErrorClass::Network
            } else {
                ErrorClass::Auth
            };
            ProviderError::new(class, error.to_string())
        })
    }
}

impl HttpProtocol for AnthropicMessages {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let compat = MessagesCompat::for_model(&request.model);
            let federated = self.federated_token(request).await?;
            Ok(HttpExchange {
                url: format!(
                    "{}/v1/messages?beta=true",
                    request.model.base_url.trim_end_matches('/')
                ),
                headers: headers(request, &compat, federated.as_ref())?,
                body: request::body(request, &compat)?,
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new(request))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        if let Some(federation) = self.federation.as_ref().filter(|_| head.status == 401) {
            federation.clear();
        }
        let mut error = http_error::response_error(head, &http_error::compact_json(body));
        if let Some(class) = ErrorReport::class_in(body)
            // Only the status carries the retry delay.
            && !matches!(error.class, ErrorClass::RateLimited { .. })
        {
            error.class = class;
        }
        http_error::with_overflow(error)
    }

    fn fallback(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: &str,
    ) -> Option<(ModelRequest, Diagnostic)> {
        strict_tools_fallback(request, head, body, "anthropic_strict_tools_fallback")
    }
}

/// How a request authenticates.
#[derive(Debug, Clone, Copy)]
enum MessagesCredential<'request> {
    Key(&'request SecretString),
    Bearer(&'request SecretString),
    SignIn(&'request SecretString),
    /// The model's or the caller's headers authenticate the request.
    Headers,
}

impl<'request> MessagesCredential<'request> {
    fn resolve(
        request: &'request ModelRequest,
        federated: Option<&'request SecretString>,
    ) -> Result<Self, ProviderError> {
        if let Some(token) = federated {
            return Ok(Self::SignIn(token));
        }
        match &request.options.api_key {
            Some(token) if request.model.provider == copilot::PROVIDER => Ok(Self::Bearer(token)),
            Some(token) if token.expose_secret().contains(OAUTH_TOKEN_MARKER) => {
                Ok(Self::SignIn(token))
            }
            Some(key) => Ok(Self::Key(key)),
            None if request.sends_any_header(&AUTH_HEADERS) => Ok(Self::Headers),
            None => Err(missing_api_key(request)),
        }
    }
}

fn headers(
    request: &ModelRequest,
    compat: &MessagesCompat,
    federated: Option<&SecretString>,
) -> Result<HeaderOverrides, ProviderError> {
    let credential = MessagesCredential::resolve(request, federated)?;
    let mut headers = HeaderOverrides::new();
    let mut set = |name: &str, value: String| headers.insert(name.to_owned(), Some(value));
    set("accept", "application/json".to_owned());
    set("anthropic-version", API_VERSION.to_owned());
    match credential {
        MessagesCredential::Key(key) => {
            set("x-api-key", key.expose_secret().to_owned());
        }
        MessagesCredential::Bearer(token) | MessagesCredential::SignIn(token) => {
            set("authorization", format!("Bearer {}", token.expose_secret()));
        }
        MessagesCredential::Headers => {}
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

fn betas(
    request: &ModelRequest,
    compat: &MessagesCompat,
    credential: MessagesCredential<'_>,
) -> Vec<&'static str> {
    let interleaved = request
        .options
        .provider_option("interleavedThinking")
        .and_then(Value::as_bool)
        .unwrap_or(true);
    let has_budget = matches!(
        MessagesThinking::for_request(request, compat),
        MessagesThinking::Budget
    );
    let has_tools = || !transcript::current_tools(&request.messages).is_empty();
    let betas = [
        (
            matches!(credential, MessagesCredential::SignIn(_)),
            beta::OAUTH,
        ),
        (
            !compat.eager_tool_input && has_tools(),
            beta::FINE_GRAINED_TOOL_STREAMING,
        ),
        (has_budget && interleaved, beta::INTERLEAVED_THINKING),
        (!compat.fallbacks.is_empty(), beta::SERVER_SIDE_FALLBACK),
        (compat.effort_in_history, beta::EFFORT_IN_HISTORY),
        (compat.effort_in_history, beta::THINKING_BINDING),
        (
            request::changes_tools_in_place(request, compat),
            beta::INLINE_TOOLS,
        ),
    ];
    betas
        .into_iter()
        .filter_map(|(enabled, name)| enabled.then_some(name))
        .collect()
}

/// Returns the header that routes a session to the same machine, and so to its cache.
fn session_affinity<'request>(
    request: &'request ModelRequest,
    compat: &MessagesCompat,
    credential: MessagesCredential<'_>,
) -> Option<(&'static str, &'request str)> {
    let caches = request.cache_retention() != CacheRetention::None;
    let is_first_party = matches!(
        credential,
        MessagesCredential::Bearer(_) | MessagesCredential::SignIn(_)
    );
    let header = compat
        .affinity_header
        .filter(|_| caches && !is_first_party)?;
    Some((header, request.options.session_id.as_deref()?))
}

/// An error reported by the service, in the body of a failed response or as an event.
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
    /// Returns the class of a reported error, if its type is known.
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
