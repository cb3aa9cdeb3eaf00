//! Builds requests to Codex: body, URLs, headers and account.
//!
//! Both transports send the same body; only the headers differ.

use pi_auth::codex_account;
use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::{ProviderError, transcript};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::options::ModelRequest;
use crate::wire::missing_api_key;
use crate::wire::openai_responses::compat::{ResponsesCompat, StrictByDefault};
use crate::wire::openai_responses::completion::UnknownStatus;
use crate::wire::openai_responses::input::LeadingPrompt;
use crate::wire::openai_responses::pricing::{TierPricing, TierRule};
use crate::wire::openai_responses::reader::ReaderSettings;
use crate::wire::openai_responses::request::{
    self, EncodedConversation, ReasoningConfig, ServiceRules,
};
use crate::wire::openai_responses::tools::DefaultStrict;

const DEFAULT_BASE_URL: &str = "https://chatgpt.com/backend-api";
const PATH: &str = "/codex/responses";

/// The service requires instructions; used for a conversation without a system prompt.
const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant.";

const ACCOUNT_HEADER: &str = "chatgpt-account-id";

/// Values of the `openai-beta` header, by transport.
const SSE_PROTOCOL: &str = "responses=experimental";
const WEBSOCKET_PROTOCOL: &str = "responses_websockets=2026-02-06";

pub(super) const RULES: ServiceRules = ServiceRules {
    default_strict: DefaultStrict::Null,
    leading_prompt: LeadingPrompt::RequestField,
};

pub(super) fn compat(request: &ModelRequest) -> ResponsesCompat {
    ResponsesCompat::for_model(&request.model, StrictByDefault::Yes)
}

pub(super) fn reader_settings(request: &ModelRequest) -> ReaderSettings {
    let tier = request.options.text_option("serviceTier");
    ReaderSettings {
        pricing: TierPricing::new(&request.model, tier, TierRule::RequestedIfDefault),
        unknown_status: UnknownStatus::Ignored,
        ..ReaderSettings::for_request(request, &compat(request))
    }
}

pub(super) fn body(request: &ModelRequest) -> Result<JsonObject, ProviderError> {
    let compat = compat(request);
    let conversation = EncodedConversation::for_request(request, &compat, RULES)?;
    let mut body = JsonObject::new();
    body.insert("model".into(), request.model.id.clone().into());
    body.insert("store".into(), false.into());
    body.insert("stream".into(), true.into());
    body.insert("instructions".into(), instructions(request, &compat).into());
    body.insert("input".into(), conversation.input.into());
    let verbosity = request
        .options
        .text_option("textVerbosity")
        .unwrap_or("low");
    body.insert("text".into(), json!({"verbosity": verbosity}));
    request::include_encrypted_reasoning(&mut body);
    request::add_cache_key(request, &mut body);
    let choice = request.options.tool_choice_value();
    let choice = choice.unwrap_or_else(|| "auto".into());
    body.insert("tool_choice".into(), choice);
    body.insert("parallel_tool_calls".into(), true.into());
    request::add_temperature(request, &mut body);
    request::add_service_tier(request, &mut body);
    EncodedConversation::add_tools(conversation.tools, &mut body);
    ReasoningConfig::for_request(request).add_to(&mut body);
    Ok(body)
}

fn instructions(request: &ModelRequest, compat: &ResponsesCompat) -> String {
    let messages = transcript::resolve(&request.messages, compat.later_system_messages);
    let leading = messages.first().and_then(|message| message.as_system());
    leading
        .map(transcript::system_text)
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| DEFAULT_INSTRUCTIONS.to_owned())
}

pub(super) fn url(base_url: &str) -> String {
    let base = match base_url.trim().trim_end_matches('/') {
        "" => DEFAULT_BASE_URL,
        base => base,
    };
    if base.ends_with(PATH) {
        base.to_owned()
    } else if base.ends_with("/codex") {
        format!("{base}/responses")
    } else {
        format!("{base}{PATH}")
    }
}

pub(super) fn websocket_url(base_url: &str) -> String {
    let url = url(base_url);
    match url.split_once("://") {
        Some(("https", rest)) => format!("wss://{rest}"),
        Some(("http", rest)) => format!("ws://{rest}"),
        _ => url,
    }
}

/// The ChatGPT account of a request.
pub(super) struct CodexAccount {
    pub id: String,
    token: SecretString,
}

impl CodexAccount {
    /// Resolves the account: an option or header of the caller, else the token itself.
    pub(super) fn resolve(request: &ModelRequest) -> Result<Self, ProviderError> {
        let token = request::api_key(request)
            .cloned()
            .ok_or_else(|| missing_api_key(request))?;
        let from_header = || {
            let headers = request.options.headers.iter();
            headers
                .filter(|(name, _)| name.eq_ignore_ascii_case(ACCOUNT_HEADER))
                .find_map(|(_, value)| value.clone())
        };
        let from_option = request.options.text_option("accountId").map(str::to_owned);
        let id = from_option
            .or_else(from_header)
            .or_else(|| codex_account(token.expose_secret()))
            .ok_or_else(|| {
                ProviderError::auth(
                    "The ChatGPT access token contains no account. Sign in to OpenAI Codex again",
                )
            })?;
        Ok(Self { id, token })
    }
}

pub(super) fn http_headers(request: &ModelRequest, account: &CodexAccount) -> HeaderOverrides {
    let mut headers = auth_headers(account, SSE_PROTOCOL);
    set(&mut headers, "accept", "text/event-stream");
    if let Some(session_id) = request::cached_session_id(request) {
        set_session_id(&mut headers, &request::cache_key(&session_id));
    }
    headers
}

/// Returns the headers of a WebSocket handshake. The service requires an ID for every connection, so
/// a request without session generates one.
pub(super) fn websocket_headers(request: &ModelRequest, account: &CodexAccount) -> HeaderOverrides {
    let mut headers = auth_headers(account, WEBSOCKET_PROTOCOL);
    let id = match request::cached_session_id(request) {
        Some(session_id) => request::cache_key(&session_id),
        None => uuid::Uuid::now_v7().to_string(),
    };
    set_session_id(&mut headers, &id);
    headers
}

fn auth_headers(account: &CodexAccount, protocol: &str) -> HeaderOverrides {
    let mut headers = HeaderOverrides::new();
    let bearer = format!("Bearer {}", account.token.expose_secret());
    set(&mut headers, "authorization", &bearer);
    set(&mut headers, ACCOUNT_HEADER, &account.id);
    set(&mut headers, "originator", "pi");
    set(&mut headers, "openai-beta", protocol);
    headers
}

fn set_session_id(headers: &mut HeaderOverrides, id: &str) {
    set(headers, "session-id", id);
    set(headers, "x-client-request-id", id);
}

fn set(headers: &mut HeaderOverrides, name: &str, value: &str) {
    headers.insert(name.to_owned(), Some(value.to_owned()));
}
