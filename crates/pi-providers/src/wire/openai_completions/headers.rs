//! The headers of Chat Completions services: authorization and session affinity.

use pi_http::HeaderOverrides;
use pi_protocol::{CacheRetention, ProviderError};
use secrecy::ExposeSecret;

use super::compat::{CompletionsCompat, SessionAffinityFormat};
use crate::options::ModelRequest;
use crate::wire::{AUTHORIZATION_HEADERS, copilot, missing_api_key};

pub(super) fn build(
    request: &ModelRequest,
    compat: &CompletionsCompat,
    retention: CacheRetention,
) -> Result<HeaderOverrides, ProviderError> {
    let mut headers = HeaderOverrides::new();
    if let Some(key) = &request.options.api_key {
        let bearer = format!("Bearer {}", key.expose_secret());
        headers.insert("authorization".into(), Some(bearer));
    } else if !request.sends_any_header(&AUTHORIZATION_HEADERS) {
        return Err(missing_api_key(request));
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

/// `OpenCode` routes by conversation, even if prompts are not cached.
fn routing_header(request: &ModelRequest) -> Option<&'static &'static str> {
    matches!(&*request.model.provider, "opencode" | "opencode-go").then_some(&"x-opencode-session")
}
