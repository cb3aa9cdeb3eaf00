//! Responses of token endpoints.

use pi_protocol::json::JsonObject;
use serde_json::Value;

use crate::oauth::OAuthFailure;
use crate::oauth::endpoint::OAuthResponse;

/// Returns the tokens of a response, or the error that it reports.
pub(super) fn parse_tokens(response: OAuthResponse) -> Result<JsonObject, OAuthFailure> {
    let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    if let Some(code) = response.json.as_ref().and_then(|json| text(json, "error")) {
        let description = response.json.as_ref();
        let description = description.and_then(|json| text(json, "error_description"));
        let message = description.unwrap_or_else(|| code.clone());
        if code == "server_error" {
            return Err(OAuthFailure::Other(message));
        }
        return Err(OAuthFailure::Rejected { code, message });
    }
    if !response.is_success() {
        return Err(OAuthFailure::Other(format!(
            "the authorization server responded with status {}",
            response.status
        )));
    }
    let json = response.json.unwrap_or_default();
    let (Some(access), Some(kind)) = (text(&json, "access_token"), text(&json, "token_type"))
    else {
        return Err(OAuthFailure::Other(
            "the authorization server sent no valid token".to_owned(),
        ));
    };
    let mut tokens = JsonObject::new();
    tokens.insert("access_token".to_owned(), access.into());
    tokens.insert("token_type".to_owned(), kind.into());
    let lifetime = json.get("expires_in").and_then(|value| match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    });
    if let Some(seconds) = lifetime {
        tokens.insert("expires_in".to_owned(), Value::from(seconds));
    }
    for key in ["scope", "refresh_token", "id_token"] {
        if let Some(value) = text(&json, key).filter(|value| !value.is_empty()) {
            tokens.insert(key.to_owned(), value.into());
        }
    }
    Ok(tokens)
}

/// Returns the start of an error response.
pub(super) fn shown(text: &str) -> String {
    text.trim().chars().take(500).collect()
}
