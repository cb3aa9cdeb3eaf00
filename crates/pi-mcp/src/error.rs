//! Why a request to a server failed.

use std::time::Duration;

use pi_protocol::JsonRpcError;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum McpError {
    /// The server rejected the request.
    #[error("{message}")]
    Rpc {
        code: i64,
        message: String,
        /// What the server adds, or null.
        data: serde_json::Value,
    },
    #[error("the connection to the MCP server is closed")]
    Closed,
    #[error("the MCP server did not respond within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("the call of the MCP server was canceled")]
    Canceled,
    #[error("{message}")]
    Http { status: u16, message: String },
    #[error("the MCP server requires authentication")]
    Unauthorized,
    /// The server no longer knows the session, so it did not process the request.
    #[error("the MCP server has ended the session")]
    SessionExpired,
    #[error("{0}")]
    Network(String),
    /// The server does not follow the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The configuration cannot be used, or the server cannot be started.
    #[error("{0}")]
    Setup(String),
    /// A message for the user that needs no context.
    #[error("{0}")]
    Reported(String),
}

/// The server does not support the version of the protocol; `data.supported` lists those it supports.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// The codes that only servers of 2026-07-28 and later use.
pub(crate) const MODERN_ERRORS: std::ops::RangeInclusive<i64> = UNSUPPORTED_VERSION..=-32020;

/// The user must visit pages before the request can succeed; `data.elicitations` lists them.
pub(crate) const URL_ELICITATION_REQUIRED: i64 = -32042;

impl From<JsonRpcError> for McpError {
    fn from(error: JsonRpcError) -> Self {
        Self::Rpc {
            code: error.code,
            message: error.message,
            data: error.data,
        }
    }
}

impl From<McpError> for JsonRpcError {
    fn from(error: McpError) -> Self {
        match error {
            McpError::Rpc {
                code,
                message,
                data,
            } => Self {
                code,
                message,
                data,
            },
            error => Self::internal(error.to_string()),
        }
    }
}

impl McpError {
    /// Whether another attempt may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Network(_) => true,
            Self::Http { status, .. } => is_transient_status(*status) && *status != 501,
            _ => false,
        }
    }

    /// Changes the text of the server that an error contains.
    pub(crate) fn map_text(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Rpc {
                code,
                message,
                data,
            } => Self::Rpc {
                code,
                message: change(message),
                data,
            },
            Self::Http { status, message } => Self::Http {
                status,
                message: change(message),
            },
            Self::Network(text) => Self::Network(change(text)),
            Self::Protocol(text) => Self::Protocol(change(text)),
            other => other,
        }
    }

    pub(crate) fn protocol(text: impl Into<String>) -> Self {
        Self::Protocol(text.into())
    }
}

pub(crate) fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}
