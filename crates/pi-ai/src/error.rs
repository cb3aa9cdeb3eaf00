//! What can go wrong between us and a model service, classified at the edge.
//!
//! Retry and compaction read the [`ErrorClass`]; people read the message. Text is searched in two
//! places only, [`crate::overflow`] and [`crate::retry`], and each is a table.

use std::fmt;
use std::time::Duration;

/// The kind of a failure, as far as the next step depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The credential is missing, wrong or expired.
    Auth,
    /// The account's quota or balance is used up; waiting does not help.
    Quota,
    /// Too many requests; the service may say how long to wait.
    RateLimited {
        /// The wait the service asked for.
        retry_after: Option<Duration>,
    },
    /// The service is overloaded or failed on its side.
    Overloaded,
    /// The conversation is larger than the model's window.
    ContextOverflow,
    /// The service refused the request as it is; sending it again does not help.
    InvalidRequest,
    /// The model or its filters refused to answer.
    Refused,
    /// The connection failed, broke or fell silent.
    Network,
    /// The service answered with something that is not its protocol.
    Protocol,
    Aborted,
}

/// A failed request to a model service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// What kind of failure it is.
    pub class: ErrorClass,
    /// One sentence for the user; status and body of the answer where there was one.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
}

impl ProviderError {
    /// Creates an error without an HTTP status.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
        }
    }

    /// Creates the error of a cancelled request.
    pub fn aborted() -> Self {
        Self::new(ErrorClass::Aborted, "Request was aborted")
    }

    /// Creates an error for an answer that breaks the protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Protocol, message)
    }

    /// Creates an error for a request that cannot be sent as asked.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::InvalidRequest, message)
    }

    /// Creates an error for a broken connection.
    pub fn network(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Network, message)
    }

    /// Creates an error for a missing or refused credential.
    pub fn auth(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Auth, message)
    }

    /// Attaches an HTTP status.
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
