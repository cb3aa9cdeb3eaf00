//! Messages of JSON-RPC 2.0.

use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientMessage {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The server asks nothing.
    Response,
}

impl ClientMessage {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let Value::Object(mut message) = serde_json::from_slice(line).ok()? else {
            return None;
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return None;
        }
        let params = message.shift_remove("params").unwrap_or_default();
        match (message.shift_remove("id"), message.shift_remove("method")) {
            (Some(id @ (Value::String(_) | Value::Number(_))), Some(Value::String(method))) => {
                Some(Self::Request { id, method, params })
            }
            (None, Some(Value::String(method))) => Some(Self::Notification { method, params }),
            (Some(_), None) => Some(Self::Response),
            _ => None,
        }
    }
}

/// Why a request failed.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    code: i64,
    message: String,
}

impl Fault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(super) fn message(&self, id: &Value) -> Value {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// Returns the answer to a request.
pub(super) fn answer(id: &Value, outcome: Result<Value, Fault>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(fault) => fault.message(id),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn messages_are_classified() {
        let parse = |message: Value| ClientMessage::parse(message.to_string().as_bytes());
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
            Some(ClientMessage::Request {
                id: json!(1),
                method: "ping".to_owned(),
                params: Value::Null
            })
        );
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "method": "x", "params": {}})),
            Some(ClientMessage::Notification {
                method: "x".to_owned(),
                params: json!({})
            })
        );
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
            Some(ClientMessage::Response)
        );
        for other in [
            json!([]),
            json!({"id": 1, "method": "x"}),
            json!({"jsonrpc": "2.0", "id": {}, "method": "x"}),
            json!({"jsonrpc": "2.0", "method": 1}),
        ] {
            assert_eq!(parse(other.clone()), None, "{other}");
        }
        assert_eq!(ClientMessage::parse(b"{"), None);
    }
}
