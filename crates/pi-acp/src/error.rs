//! Errors of the protocol, and of commands that a session rejects.

use pi_host::RemoteError;
use pi_protocol::{JsonRpcError, Rejected, RejectionCode};
use serde_json::json;

const REQUEST_CANCELED: i64 = -32800;
const AUTH_REQUIRED: i64 = -32000;
const RESOURCE_NOT_FOUND: i64 = -32002;

pub(crate) fn canceled() -> JsonRpcError {
    JsonRpcError::new(REQUEST_CANCELED, "the request was canceled")
}

pub(crate) fn unknown_session(id: &str) -> JsonRpcError {
    let message = format!("there is no session with the ID \"{id}\"");
    JsonRpcError::new(RESOURCE_NOT_FOUND, message).with_data(json!({ "sessionId": id }))
}

/// Returns why a session rejected a command.
pub(crate) fn rejected(rejected: Rejected) -> JsonRpcError {
    let code = match rejected.code {
        RejectionCode::NoModel => AUTH_REQUIRED,
        RejectionCode::Busy | RejectionCode::Compacting | RejectionCode::Closed => {
            JsonRpcError::INVALID_REQUEST
        }
        RejectionCode::Invalid | RejectionCode::NotFound => JsonRpcError::INVALID_PARAMS,
        RejectionCode::Canceled => return canceled(),
        _ => JsonRpcError::INTERNAL_ERROR,
    };
    JsonRpcError::new(code, rejected.message)
}

/// Returns why the process that runs a session did not execute a command.
pub(crate) fn remote(error: RemoteError) -> JsonRpcError {
    match error {
        RemoteError::Rejected(message) => JsonRpcError::invalid_request(message),
        RemoteError::Ended => JsonRpcError::internal(format!(
            "{}; load the session again to continue here",
            RemoteError::Ended
        )),
        error => JsonRpcError::internal(pi_host::describe_error(&error)),
    }
}
