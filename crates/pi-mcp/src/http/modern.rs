//! What differs for servers of 2026-07-28: headers that repeat the request, and errors with an error status.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use pi_protocol::JsonRpcError;
use serde_json::Value;

use super::PROTOCOL_VERSION;
use crate::client::{METHOD_HEADER_NAMES, envelope_version};
use crate::error::{MODERN_ERRORS, McpError};

const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Adds what servers of 2026-07-28 expect in headers; returns whether a message is for one.
pub(super) fn add_modern_headers(headers: &mut HeaderMap, message: &Value) -> bool {
    let Some(version) = envelope_version(message) else {
        return false;
    };
    let method = message.get("method").and_then(Value::as_str);
    let method = method.unwrap_or_default();
    let source = METHOD_HEADER_NAMES
        .iter()
        .find(|(known, _)| *known == method);
    let name = source.and_then(|(_, key)| message.get("params")?.get(*key)?.as_str());
    for (header, value) in [
        (PROTOCOL_VERSION, Some(version)),
        (MCP_METHOD, Some(method)),
        (MCP_NAME, name),
    ] {
        let value = value.and_then(|value| HeaderValue::from_str(&encoded(value)).ok());
        if let Some(value) = value {
            headers.insert(header, value);
        }
    }
    true
}

/// Returns a text as the value of a header; in base64 if it could not be one.
fn encoded(text: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    if text.bytes().all(is_plain) && text.trim() == text && !text.starts_with("=?base64?") {
        return text.into();
    }
    format!("=?base64?{}?=", STANDARD.encode(text)).into()
}

/// Returns the error of a request in an error response, if it is one.
pub(super) fn rpc_error(status: u16, body: &str, is_modern: bool) -> Option<McpError> {
    if !(400..500).contains(&status) {
        return None;
    }
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body.get("error")?;
    error.get("code").and_then(Value::as_i64)?;
    let error = JsonRpcError::of(error);
    let is_known = is_modern || MODERN_ERRORS.contains(&error.code);
    is_known.then(|| error.into())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_that_are_no_headers_are_encoded() {
        for (name, expected) in [
            ("read file", "read file"),
            ("größe", "=?base64?Z3LDtsOfZQ==?="),
            (" a", "=?base64?IGE=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ] {
            assert_eq!(encoded(name), expected);
        }
    }

    #[test]
    fn errors_of_requests_are_recognized() {
        let body = |code: i64| format!(r#"{{"error": {{"code": {code}, "message": "no"}}}}"#);
        for (status, code, is_modern, is_error) in [
            (400, -32022, false, true),
            (400, -32601, false, false),
            (404, -32601, true, true),
            (500, -32022, true, false),
        ] {
            let error = rpc_error(status, &body(code), is_modern);
            assert_eq!(error.is_some(), is_error, "{status} {code}");
        }
        assert_eq!(rpc_error(400, "no", true), None);
    }
}
