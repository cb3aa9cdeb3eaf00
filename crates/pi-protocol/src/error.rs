//! Errors of model requests, classified where they occur.
//!
//! Retry and compaction act on the [`ErrorClass`]; the message is for users. Error text is matched
//! in only two places, the tables in [`crate::overflow`] and [`crate::retry`].

use std::fmt;
use std::time::Duration;

/// Kind of failure, as far as error handling depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The credential is missing, invalid or expired.
    Auth,
    /// The account's quota or balance is exhausted; waiting does not help.
    Quota,
    /// Too many requests.
    RateLimited {
        /// Wait requested by the service.
        retry_after: Option<Duration>,
    },
    /// The service is overloaded or failed internally.
    Overloaded,
    /// The conversation exceeds the model's context window.
    ContextOverflow,
    /// The service rejected the request; sending it again does not help.
    InvalidRequest,
    /// The model or a content filter refused to respond.
    Refused,
    /// The connection failed, broke or timed out.
    Network,
    /// The response violates the protocol.
    Protocol,
    Aborted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    pub class: ErrorClass,
    /// Error message for the user, including the status and body of the response, if any.
    pub message: String,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
}

impl ProviderError {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
        }
    }

    /// Creates the error for a canceled request.
    pub fn aborted() -> Self {
        Self::new(ErrorClass::Aborted, "Request was aborted")
    }

    /// Creates an error for a response that violates the protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Protocol, message)
    }

    /// Creates an error for an invalid request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::InvalidRequest, message)
    }

    /// Creates an error for a failed connection.
    pub fn network(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Network, message)
    }

    /// Creates an error for a missing or rejected credential.
    pub fn auth(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Auth, message)
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ProviderError {}
