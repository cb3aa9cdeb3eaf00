//! Messages of JSON-RPC 2.0, as MCP and ACP use it: one object per message, no batches.

use serde_json::{Map, Value};

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonRpcError {
    pub code: i64,
    pub message: String,
    /// Details, or null.
    pub data: Value,
}

impl JsonRpcError {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }

    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    pub fn unknown_method(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("unknown method: {method}"))
    }

    /// `problem` completes a sentence that starts with the name of the field.
    pub fn invalid_params(field: &str, problem: impl std::fmt::Display) -> Self {
        let error = Self::new(Self::INVALID_PARAMS, format!("{field} {problem}"));
        error.with_data(json_object([("field", field.into())]))
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL_ERROR, message)
    }

    /// Reads the error of a response. What is missing has defaults: the peer reports a failure in any case.
    pub fn of(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_i64);
        let message = error.get("message").and_then(Value::as_str);
        Self {
            code: code.unwrap_or_default(),
            message: message.unwrap_or("the request failed").to_owned(),
            data: error.get("data").cloned().unwrap_or_default(),
        }
    }

    fn into_value(self) -> Value {
        let (code, message) = (self.code.into(), self.message.into());
        let mut error = json_object([("code", code), ("message", message)]);
        if let (false, Value::Object(error)) = (self.data.is_null(), &mut error) {
            error.insert("data".to_owned(), self.data);
        }
        error
    }
}

/// A message of JSON-RPC 2.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonRpcMessage {
    Request {
        /// A string or a number.
        id: Value,
        method: String,
        /// Null if absent.
        params: Value,
    },
    Notification {
        method: String,
        /// Null if absent.
        params: Value,
    },
    Response {
        id: Value,
        outcome: Result<Value, JsonRpcError>,
    },
}

/// Input that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidJsonRpc {
    /// The ID of the message; null if it has none.
    pub id: Value,
    pub error: JsonRpcError,
}

impl InvalidJsonRpc {
    /// Returns the response that reports it.
    pub fn into_response(self) -> Value {
        JsonRpcMessage::response(&self.id, Err(self.error))
    }
}

impl JsonRpcMessage {
    /// Reads the text of a message.
    pub fn read(text: &[u8]) -> Result<Self, Box<InvalidJsonRpc>> {
        let message = serde_json::from_slice(text).map_err(|error| {
            let problem = format!("not JSON: {error}");
            Box::new(InvalidJsonRpc {
                id: Value::Null,
                error: JsonRpcError::new(JsonRpcError::PARSE_ERROR, problem),
            })
        })?;
        Self::parse(message)
    }

    pub fn parse(message: Value) -> Result<Self, Box<InvalidJsonRpc>> {
        let invalid = |id: Value, problem: &str| {
            let error = JsonRpcError::invalid_request(problem);
            Box::new(InvalidJsonRpc { id, error })
        };
        let mut message = match message {
            Value::Object(message) => message,
            Value::Array(_) => return Err(invalid(Value::Null, "batches are not supported")),
            _ => return Err(invalid(Value::Null, "a message must be an object")),
        };
        let params = message.shift_remove("params").unwrap_or_default();
        let method = message.shift_remove("method");
        let is_id = |id: &Value| matches!(id, Value::String(_) | Value::Number(_));
        let is_version_2 = message.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        match (message.shift_remove("id"), method) {
            (Some(id), Some(Value::String(method))) if is_version_2 && is_id(&id) => {
                Ok(Self::Request { id, method, params })
            }
            (None, Some(Value::String(method))) if is_version_2 => {
                Ok(Self::Notification { method, params })
            }
            (Some(id), None) if is_version_2 && is_id(&id) => {
                let outcome = match message.shift_remove("error") {
                    Some(error) => Err(JsonRpcError::of(&error)),
                    None => Ok(message.shift_remove("result").unwrap_or_default()),
                };
                Ok(Self::Response { id, outcome })
            }
            (id, _) => {
                let id = id.filter(is_id).unwrap_or_default();
                Err(invalid(id, "not a message of JSON-RPC 2.0"))
            }
        }
    }

    pub fn request(id: u64, method: &str, params: Option<Value>) -> Value {
        call(
            [("jsonrpc", "2.0".into()), ("id", id.into())],
            method,
            params,
        )
    }

    pub fn notification(method: &str, params: Option<Value>) -> Value {
        call([("jsonrpc", "2.0".into())], method, params)
    }

    /// Returns the response to a request.
    pub fn response(id: &Value, outcome: Result<Value, JsonRpcError>) -> Value {
        let outcome = match outcome {
            Ok(result) => ("result", result),
            Err(error) => ("error", error.into_value()),
        };
        json_object([("jsonrpc", "2.0".into()), ("id", id.clone()), outcome])
    }
}

fn call<const N: usize>(head: [(&str, Value); N], method: &str, params: Option<Value>) -> Value {
    let head = head.map(|(name, value)| (name.to_owned(), value));
    let mut message = Map::from_iter(head);
    message.insert("method".to_owned(), method.into());
    if let Some(params) = params {
        message.insert("params".to_owned(), params);
    }
    Value::Object(message)
}

/// Returns an object, without copying its values as `json!` does.
pub fn json_object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    Value::Object(Map::from_iter(fields))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_classified() {
        let parse = |message: Value| JsonRpcMessage::read(message.to_string().as_bytes());
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": "m", "params": {"x": 1}});
        let expected = JsonRpcMessage::Request {
            id: json!("a"),
            method: "m".to_owned(),
            params: json!({"x": 1}),
        };
        assert_eq!(parse(request), Ok(expected));
        let expected = JsonRpcMessage::Notification {
            method: "m".to_owned(),
            params: Value::Null,
        };
        let notification = JsonRpcMessage::notification("m", None);
        assert_eq!(notification, json!({"jsonrpc": "2.0", "method": "m"}));
        assert_eq!(parse(notification), Ok(expected));
    }

    #[test]
    fn responses_have_a_result_or_an_error() {
        let error = JsonRpcError::new(-1, "no").with_data(json!({"field": "x"}));
        for (message, outcome) in [
            (json!({"result": 1}), Ok(json!(1))),
            (json!({"result": null}), Ok(Value::Null)),
            (json!({}), Ok(Value::Null)),
            (
                json!({"error": {"code": -1, "message": "no", "data": {"field": "x"}}}),
                Err(error.clone()),
            ),
            (
                json!({"error": "no"}),
                Err(JsonRpcError::new(0, "the request failed")),
            ),
        ] {
            let mut message = message;
            message["jsonrpc"] = json!("2.0");
            message["id"] = json!(7);
            let id = json!(7);
            let expected = JsonRpcMessage::Response { id, outcome };
            assert_eq!(JsonRpcMessage::parse(message), Ok(expected));
        }
        assert_eq!(
            JsonRpcMessage::response(&json!(7), Err(error)).to_string(),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":{"field":"x"}}}"#
        );
    }

    #[test]
    fn other_input_has_a_response() {
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
            (r#"{"jsonrpc":"2.0"}"#, json!(null), -32600),
        ] {
            let invalid = JsonRpcMessage::read(line.as_bytes()).unwrap_err();
            let response = invalid.into_response();
            assert_eq!(
                (&response["id"], &response["error"]["code"]),
                (&id, &json!(code)),
                "{line}"
            );
        }
    }
}
