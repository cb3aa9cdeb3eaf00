//! What is asked of Codex, and under whose name: body, addresses, headers.
//!
//! Both transports send the same body; only the headers tell them apart.

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::error::ProviderError;
use crate::json::JsonObject;
use crate::oauth::codex_account;
use crate::options::{HeaderOverrides, ModelRequest};
use crate::transcript;
use crate::wire::missing_key;
use crate::wire::openai_responses::compat::{ResponsesCompat, StrictByDefault};
use crate::wire::openai_responses::ending::UnknownStatus;
use crate::wire::openai_responses::input::LeadingPrompt;
use crate::wire::openai_responses::pricing::{TierPricing, TierRule};
use crate::wire::openai_responses::reader::ReaderSettings;
use crate::wire::openai_responses::request::{self, Conversation, Reasoning, ServiceRules};
use crate::wire::openai_responses::tools::UnaskedStrict;

const DEFAULT_BASE_URL: &str = "https://chatgpt.com/backend-api";
const PATH: &str = "/codex/responses";

/// The service wants instructions, so a conversation without a prompt has these.
const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant.";

const ACCOUNT_HEADER: &str = "chatgpt-account-id";

/// What each transport calls the version of the protocol.
const SSE_PROTOCOL: &str = "responses=experimental";
const WEBSOCKET_PROTOCOL: &str = "responses_websockets=2026-02-06";

pub(super) const RULES: ServiceRules = ServiceRules {
    unasked_strict: UnaskedStrict::Null,
    leading_prompt: LeadingPrompt::RequestField,
};

/// Returns what the service takes of a model.
pub(super) fn compat(request: &ModelRequest) -> ResponsesCompat {
    ResponsesCompat::of(&request.model, StrictByDefault::Yes)
}

/// Returns how an answer to the request is read.
pub(super) fn reader_settings(request: &ModelRequest) -> ReaderSettings {
    let tier = request.options.text_option("serviceTier");
    ReaderSettings {
        pricing: TierPricing::new(&request.model, tier, TierRule::AsAskedWhenDefault),
        unknown_status: UnknownStatus::Ignored,
        ..ReaderSettings::for_request(request, &compat(request))
    }
}

/// Builds the body.
pub(super) fn body(request: &ModelRequest) -> Result<JsonObject, ProviderError> {
    let compat = compat(request);
    let conversation = Conversation::of(request, &compat, RULES)?;
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
    Conversation::add_tools(conversation.tools, &mut body);
    Reasoning::of(request).add_to(&mut body);
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

/// Returns where requests go.
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

/// Returns where a WebSocket is opened.
pub(super) fn websocket_url(base_url: &str) -> String {
    let url = url(base_url);
    match url.split_once("://") {
        Some(("https", rest)) => format!("wss://{rest}"),
        Some(("http", rest)) => format!("ws://{rest}"),
        _ => url,
    }
}

/// The account that asks.
pub(super) struct Account {
    pub id: String,
    token: SecretString,
}

impl Account {
    /// Finds the account: a header or option of the caller names it, else the token itself does.
    pub(super) fn of(request: &ModelRequest) -> Result<Self, ProviderError> {
        let token = request::api_key(request)
            .cloned()
            .ok_or_else(|| missing_key(request))?;
        let named = || {
            let headers = request.options.headers.iter();
            headers
                .filter(|(name, _)| name.eq_ignore_ascii_case(ACCOUNT_HEADER))
                .find_map(|(_, value)| value.clone())
        };
        let asked = request.options.text_option("accountId").map(str::to_owned);
        let id = asked
            .or_else(named)
            .or_else(|| codex_account(token.expose_secret()))
            .ok_or_else(|| {
                ProviderError::auth(
                    "The ChatGPT access token names no account; sign in to OpenAI Codex again",
                )
            })?;
        Ok(Self { id, token })
    }
}

/// Returns the headers of a request over HTTP.
pub(super) fn http_headers(request: &ModelRequest, account: &Account) -> HeaderOverrides {
    let mut headers = signed(account, SSE_PROTOCOL);
    set(&mut headers, "accept", "text/event-stream");
    if let Some(session_id) = request::cached_session_id(request) {
        tie_to_session(&mut headers, &request::cache_key(&session_id));
    }
    headers
}

/// Returns the headers of a WebSocket handshake. The service wants every connection to have an id,
/// so one without session makes one up.
pub(super) fn websocket_headers(request: &ModelRequest, account: &Account) -> HeaderOverrides {
    let mut headers = signed(account, WEBSOCKET_PROTOCOL);
    let id = match request::cached_session_id(request) {
        Some(session_id) => request::cache_key(&session_id),
        None => uuid::Uuid::now_v7().to_string(),
    };
    tie_to_session(&mut headers, &id);
    headers
}

fn signed(account: &Account, protocol: &str) -> HeaderOverrides {
    let mut headers = HeaderOverrides::new();
    let bearer = format!("Bearer {}", account.token.expose_secret());
    set(&mut headers, "authorization", &bearer);
    set(&mut headers, ACCOUNT_HEADER, &account.id);
    set(&mut headers, "originator", "pi");
    set(&mut headers, "openai-beta", protocol);
    headers
}

fn tie_to_session(headers: &mut HeaderOverrides, id: &str) {
    set(headers, "session-id", id);
    set(headers, "x-client-request-id", id);
}

fn set(headers: &mut HeaderOverrides, name: &str, value: &str) {
    headers.insert(name.to_owned(), Some(value.to_owned()));
}
