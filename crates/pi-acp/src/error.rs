//! Errors of requests, with the codes of JSON-RPC and of the protocol.

use pi_protocol::{Rejected, RejectionCode};
use serde_json::{Value, json};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
const REQUEST_CANCELED: i64 = -32800;
const AUTH_REQUIRED: i64 = -32000;
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(crate) fn parse(message: impl Into<String>) -> Self {
        Self::new(PARSE_ERROR, message)
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("unknown method: {method}"))
    }

    /// `problem` completes a sentence that starts with the name of the field.
    pub(crate) fn invalid_params(field: &str, problem: impl std::fmt::Display) -> Self {
        Self {
            data: Some(json!({ "field": field })),
            ..Self::new(INVALID_PARAMS, format!("{field} {problem}"))
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    pub(crate) fn canceled() -> Self {
        Self::new(REQUEST_CANCELED, "the request was canceled")
    }

    pub(crate) fn auth_required(message: impl Into<String>) -> Self {
        Self::new(AUTH_REQUIRED, message)
    }

    pub(crate) fn unknown_session(id: &str) -> Self {
        Self {
            data: Some(json!({ "sessionId": id })),
            ..Self::new(
                RESOURCE_NOT_FOUND,
                format!("there is no session with the ID \"{id}\""),
            )
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(error)) = (&self.data, error.as_object_mut()) {
            error.insert("data".to_owned(), data.clone());
        }
        error
    }
}

impl From<Rejected> for RpcError {
    fn from(rejected: Rejected) -> Self {
        match rejected.code {
            RejectionCode::NoModel => Self::auth_required(rejected.message),
            RejectionCode::Busy | RejectionCode::Compacting | RejectionCode::Closed => {
                Self::invalid_request(rejected.message)
            }
            RejectionCode::Invalid | RejectionCode::NotFound => {
                Self::new(INVALID_PARAMS, rejected.message)
            }
            RejectionCode::Canceled => Self::canceled(),
            _ => Self::internal(rejected.message),
        }
    }
}
