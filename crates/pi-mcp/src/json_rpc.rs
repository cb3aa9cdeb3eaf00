//! Messages of JSON-RPC 2.0, as the protocol uses it.

use serde_json::{Map, Value, json};

use crate::error::McpError;

/// A message of JSON-RPC 2.0.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonRpcMessage {
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
        /// `None` if it is not one of ours, which are numbers.
        id: Option<u64>,
        outcome: Result<Value, McpError>,
    },
}

impl JsonRpcMessage {
    /// Parses a message; `None` if it is not one.
    pub fn parse(message: Value) -> Option<Self> {
        let Value::Object(mut message) = message else {
            return None;
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return None;
        }
        let method = match message.shift_remove("method") {
            Some(Value::String(method)) => Some(method),
            Some(_) => return None,
            None => None,
        };
        let params = message.shift_remove("params").unwrap_or_default();
        match (message.shift_remove("id"), method) {
            (Some(id @ (Value::String(_) | Value::Number(_))), Some(method)) => {
                Some(Self::Request { id, method, params })
            }
            (None, Some(method)) => Some(Self::Notification { method, params }),
            (Some(id), None) => Some(Self::Response {
                id: id.as_u64(),
                outcome: outcome(&mut message)?,
            }),
            _ => None,
        }
    }
}

fn outcome(message: &mut Map<String, Value>) -> Option<Result<Value, McpError>> {
    match (message.shift_remove("result"), message.get("error")) {
        (Some(result), None) => Some(Ok(result)),
        (None, Some(error)) => Some(Err(parse_error(error)?)),
        _ => None,
    }
}

/// Parses the error of a response.
pub(crate) fn parse_error(error: &Value) -> Option<McpError> {
    Some(McpError::Rpc {
        code: error.get("code")?.as_i64()?,
        message: error.get("message")?.as_str()?.to_owned(),
        data: error.get("data").cloned().unwrap_or_default(),
    })
}

pub(crate) fn request(id: u64, method: &str, params: Option<Value>) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    put(&mut message, "params", params);
    message
}

pub(crate) fn notification(method: &str, params: Option<Value>) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    put(&mut message, "params", params);
    message
}

/// Returns the response to a request.
pub fn json_rpc_response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(crate) fn error_response(id: &Value, code: i64, text: &str) -> Value {
    json_rpc_error(id, code, text, &Value::Null)
}

/// Returns the response to a request that failed; null is no data.
pub fn json_rpc_error(id: &Value, code: i64, text: &str, data: &Value) -> Value {
    let mut error = json!({"code": code, "message": text});
    if !data.is_null() {
        put(&mut error, "data", Some(data.clone()));
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

fn put(message: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(message), Some(value)) = (message, value) {
        message.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn messages_are_classified() {
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": "ping"});
        assert!(matches!(
            JsonRpcMessage::parse(request),
            Some(JsonRpcMessage::Request { .. })
        ));
        let notification = json!({"jsonrpc": "2.0", "method": "x", "params": {"a": 1}});
        assert_eq!(
            JsonRpcMessage::parse(notification),
            Some(JsonRpcMessage::Notification {
                method: "x".to_owned(),
                params: json!({"a": 1})
            })
        );
        let error = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no"}});
        assert_eq!(
            JsonRpcMessage::parse(error),
            Some(JsonRpcMessage::Response {
                id: Some(7),
                outcome: Err(McpError::Rpc {
                    code: -1,
                    message: "no".to_owned(),
                    data: Value::Null,
                })
            })
        );
        let null = json!({"jsonrpc": "2.0", "id": 7, "result": null});
        assert!(matches!(
            JsonRpcMessage::parse(null),
            Some(JsonRpcMessage::Response {
                outcome: Ok(Value::Null),
                ..
            })
        ));
    }

    #[test]
    fn other_values_are_no_messages() {
        for value in [
            json!(1),
            json!([]),
            json!({"id": 1, "method": "x"}),
            json!({"jsonrpc": "2.0", "id": null, "method": "x"}),
            json!({"jsonrpc": "2.0", "id": 1}),
            json!({"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": "no"}),
            json!({"jsonrpc": "2.0", "method": 1}),
        ] {
            assert_eq!(JsonRpcMessage::parse(value.clone()), None, "{value}");
        }
    }
}
