//! The headers that Chat Completions services expect: authorization, and which session a request
//! belongs to.

use secrecy::ExposeSecret;

use super::compat::{CompletionsCompat, SessionAffinityFormat};
use crate::error::ProviderError;
use crate::options::{CacheRetention, HeaderOverrides, ModelRequest};
use crate::wire::copilot;

/// Headers that authorize a request by themselves.
const AUTHORIZATION_HEADERS: [&str; 2] = ["authorization", "cf-aig-authorization"];

/// Returns the headers of a request.
pub(super) fn build(
    request: &ModelRequest,
    compat: &CompletionsCompat,
    retention: CacheRetention,
) -> Result<HeaderOverrides, ProviderError> {
    let mut headers = HeaderOverrides::new();
    if let Some(key) = &request.options.api_key {
        let bearer = format!("Bearer {}", key.expose_secret());
        headers.insert("authorization".into(), Some(bearer));
    } else if !is_authorized(request) {
        return Err(ProviderError::auth(format!(
            "No API key for provider {}",
            request.model.provider
        )));
    }
    if request.model.provider == copilot::PROVIDER {
        headers.extend(copilot::headers(&request.messages));
    }
    if let Some(session) = &request.options.session_id {
        let names = if retention != CacheRetention::None && compat.sends_session_affinity {
            affinity_headers(compat.session_affinity_format)
        } else {
            &[]
        };
        let names = names.iter().chain(routing_header(request));
        headers.extend(names.map(|name| ((*name).to_owned(), Some(session.clone()))));
    }
    Ok(headers)
}

fn affinity_headers(format: SessionAffinityFormat) -> &'static [&'static str] {
    match format {
        SessionAffinityFormat::Openai => {
            &["session_id", "x-client-request-id", "x-session-affinity"]
        }
        SessionAffinityFormat::OpenaiNosession => &["x-client-request-id", "x-session-affinity"],
        SessionAffinityFormat::Openrouter => &["x-session-id"],
    }
}

/// `OpenCode` routes by conversation, whether or not prompts are cached.
fn routing_header(request: &ModelRequest) -> Option<&'static &'static str> {
    matches!(&*request.model.provider, "opencode" | "opencode-go").then_some(&"x-opencode-session")
}

fn is_authorized(request: &ModelRequest) -> bool {
    let names_one = |name: &str, value: &str| {
        let is_one = AUTHORIZATION_HEADERS
            .iter()
            .any(|header| header.eq_ignore_ascii_case(name));
        is_one && !value.trim().is_empty()
    };
    let by_options = request
        .options
        .headers
        .iter()
        .any(|(name, value)| value.as_deref().is_some_and(|value| names_one(name, value)));
    let by_model = request
        .model
        .headers
        .iter()
        .flatten()
        .any(|(name, value)| names_one(name, value));
    by_options || by_model
}
