//! Errors of requests.

use pi_mcp::{json_rpc_error, json_rpc_response};
use serde_json::Value;

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// Why a request failed.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    code: i64,
    message: String,
    data: Value,
}

impl Fault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }

    pub(super) fn message(&self, id: &Value) -> Value {
        json_rpc_error(id, self.code, &self.message, &self.data)
    }
}

/// Returns the answer to a request.
pub(super) fn answer(id: &Value, outcome: Result<Value, Fault>) -> Value {
    match outcome {
        Ok(result) => json_rpc_response(id, &result),
        Err(fault) => fault.message(id),
    }
}
