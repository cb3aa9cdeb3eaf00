//! Errors of sign-in and token refresh.

use std::time::Duration;

/// Why a sign-in or token refresh failed. Never contains a token or a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    #[error("sign-in canceled")]
    Cancelled,
    /// The user or the service denied access.
    #[error("the service denied access{}", detail(description.as_ref()))]
    Denied {
        /// The service's error description.
        description: Option<String>,
    },
    #[error("{}", if *slowed_down {
        "the code expired after the service asked to slow down; if this machine's clock is wrong \
         (for example in a virtual machine after sleep), correct it and sign in again"
    } else {
        "the code expired before it was used; sign in again"
    })]
    Expired {
        /// Whether the service asked to slow down, which clock drift can cause.
        slowed_down: bool,
    },
    /// The callback belongs to another sign-in or is forged.
    #[error("the callback does not belong to this sign-in (state mismatch); sign in again")]
    StateMismatch,
    #[error("no authorization code received")]
    MissingCode,
    /// The service rejected the token or code.
    #[error("{what} rejected (HTTP {status}){}", detail(description.as_ref()))]
    Rejected {
        /// Name of the request.
        what: &'static str,
        status: u16,
        /// The service's error description.
        description: Option<String>,
    },
    /// The service failed or is rate limiting.
    #[error("{what} failed (HTTP {status}){}", detail(description.as_ref()))]
    Service {
        /// Name of the request.
        what: &'static str,
        status: u16,
        /// The service's error description.
        description: Option<String>,
    },
    /// The response is unusable.
    #[error("{what}: the response {problem}")]
    Protocol {
        /// Name of the request.
        what: &'static str,
        /// What is wrong with the response; never contains it.
        problem: String,
    },
    /// The connection failed or broke.
    #[error("{what}: {problem}")]
    Network {
        /// Name of the request.
        what: &'static str,
        problem: String,
        /// Whether the service may have received the request.
        sent: bool,
    },
    #[error("{what} took longer than {} s", limit.as_secs())]
    TimedOut {
        /// Name of the step.
        what: &'static str,
        limit: Duration,
    },
    /// The service accepts only this callback port, and it cannot be used.
    #[error(
        "cannot listen on port {port} for the sign-in: {problem}; another sign-in may be waiting, \
         cancel it and try again"
    )]
    CallbackPort { port: u16, problem: String },
    /// The user's input is invalid.
    #[error("{0}")]
    InvalidInput(String),
    /// The stored credential lacks what a refresh needs.
    #[error("the stored sign-in has no {field}; sign in again")]
    NotRefreshable { field: &'static str },
    /// A bug in pi.
    #[error("internal error: {0}")]
    Internal(String),
}

fn detail(description: Option<&String>) -> String {
    description.map_or_else(String::new, |text| format!(": {text}"))
}

impl OAuthError {
    /// Returns whether the service rejected the credential, so only a new sign-in helps.
    pub fn is_rejection(&self) -> bool {
        matches!(
            self,
            Self::Rejected { .. } | Self::Denied { .. } | Self::NotRefreshable { .. }
        )
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Returns whether retrying later may help.
    pub fn is_network(&self) -> bool {
        matches!(
            self,
            Self::Network { .. } | Self::TimedOut { .. } | Self::Service { .. }
        )
    }

    /// Returns whether the service certainly did not exchange the token that was sent.
    pub(crate) fn proves_token_unspent(&self) -> bool {
        match self {
            Self::Network { sent, .. } => !sent,
            Self::Service { status, .. } => *status == 429,
            Self::Rejected { .. }
            | Self::Denied { .. }
            | Self::NotRefreshable { .. }
            | Self::CallbackPort { .. } => true,
            Self::Cancelled
            | Self::Expired { .. }
            | Self::StateMismatch
            | Self::MissingCode
            | Self::Protocol { .. }
            | Self::TimedOut { .. }
            | Self::InvalidInput(_)
            | Self::Internal(_) => false,
        }
    }
}
