//! Errors as problem documents (RFC 9457).

use std::fmt;

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;

use crate::body::{Reply, reply};

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl fmt::Display) -> Self {
        Self {
            status,
            detail: detail.to_string(),
        }
    }

    pub(crate) fn internal(error: &dyn fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    pub(crate) fn bad_request(detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found(detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn into_reply(self) -> Reply {
        let document = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let body = Bytes::from(document.to_string());
        reply(self.status, "application/problem+json", body)
    }
}
