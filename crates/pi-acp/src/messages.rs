//! Messages of JSON-RPC 2.0.

use serde_json::Value;

use crate::error::RpcError;

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(crate) enum ClientMessage {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        id: Value,
        outcome: Result<Value, RpcError>,
    },
    /// Not a message; answered with an error, with the ID if there is one.
    Invalid {
        id: Value,
        error: RpcError,
    },
}

impl ClientMessage {
    pub(crate) fn parse(line: &[u8]) -> Self {
        let invalid = |id: Value, error: RpcError| Self::Invalid { id, error };
        let mut message = match serde_json::from_slice(line) {
            Ok(Value::Object(message)) => message,
            Ok(Value::Array(_)) => {
                let error = RpcError::invalid_request("batches are not supported");
                return invalid(Value::Null, error);
            }
            Ok(_) => {
                let error = RpcError::invalid_request("a message must be an object");
                return invalid(Value::Null, error);
            }
            Err(error) => {
                return invalid(Value::Null, RpcError::parse(format!("not JSON: {error}")));
            }
        };
        let params = message.remove("params").unwrap_or_default();
        let id = message.remove("id");
        let is_version_2 = message.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let is_id = |id: &Value| matches!(id, Value::String(_) | Value::Number(_));
        match (id, message.remove("method")) {
            (Some(id), Some(Value::String(method))) if is_version_2 && is_id(&id) => {
                Self::Request { id, method, params }
            }
            (None, Some(Value::String(method))) if is_version_2 => {
                Self::Notification { method, params }
            }
            (Some(id), None) if is_id(&id) => {
                let outcome = match (message.remove("result"), message.remove("error")) {
                    (_, Some(error)) => Err(client_error(&error)),
                    (result, None) => Ok(result.unwrap_or_default()),
                };
                Self::Response { id, outcome }
            }
            (id, _) => {
                let id = id.filter(is_id).unwrap_or_default();
                invalid(
                    id,
                    RpcError::invalid_request("not a message of JSON-RPC 2.0"),
                )
            }
        }
    }
}

fn client_error(error: &Value) -> RpcError {
    let code = error.get("code").and_then(Value::as_i64);
    let message = error.get("message").and_then(Value::as_str);
    RpcError::new(
        code.unwrap_or_default(),
        message.unwrap_or("the client returned an error"),
    )
}

/// Returns an object, without copying its values as `json!` does.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Value::Object(fields.collect())
}

/// Returns the response to a request.
pub(crate) fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    let (field, value) = match outcome {
        Ok(result) => ("result", result),
        Err(error) => ("error", error.to_value()),
    };
    object([
        ("jsonrpc", "2.0".into()),
        ("id", id.clone()),
        (field, value),
    ])
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_classified() {
        let parse = |message: Value| ClientMessage::parse(message.to_string().as_bytes());
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "id": "a", "method": "m", "params": {"x": 1}})),
            ClientMessage::Request {
                id: json!("a"),
                method: "m".to_owned(),
                params: json!({"x": 1}),
            }
        );
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "method": "m"})),
            ClientMessage::Notification {
                method: "m".to_owned(),
                params: Value::Null,
            }
        );
        assert_eq!(
            parse(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}})),
            ClientMessage::Response {
                id: json!(1),
                outcome: Err(RpcError::new(-1, "no")),
            }
        );
    }

    #[test]
    fn other_input_is_answered_with_an_error() {
        for (line, id, code) in [
            ("{", json!(null), -32700),
            ("[]", json!(null), -32600),
            ("7", json!(null), -32600),
            (r#"{"id":1,"method":"m"}"#, json!(1), -32600),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
                json!(null),
                -32600,
            ),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":1}"#,
                json!("x"),
                -32600,
            ),
        ] {
            let ClientMessage::Invalid { id: found, error } = ClientMessage::parse(line.as_bytes())
            else {
                panic!("{line}");
            };
            assert_eq!((found, error.code), (id, code), "{line}");
        }
    }
}
