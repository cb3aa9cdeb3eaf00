//! What can go wrong while signing in or renewing a sign-in.

use std::time::Duration;

/// Why a sign-in or its renewal failed. Never contains a token or a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    #[error("sign-in cancelled")]
    Cancelled,
    /// The person, or the service, said no.
    #[error("the service denied access{}", detail(description.as_ref()))]
    Denied {
        /// The service's own words.
        description: Option<String>,
    },
    /// The code was not used in time.
    #[error("{}", if *slowed_down {
        "the code expired after the service asked to slow down; if this machine's clock drifts \
         (a virtual machine after sleep), set it right and start the sign-in again"
    } else {
        "the code expired before it was used; start the sign-in again"
    })]
    Expired {
        /// Whether the service complained about our pace, which a drifting clock can cause.
        slowed_down: bool,
    },
    /// The answer belongs to another sign-in, or somebody forged it.
    #[error("the answer does not belong to this sign-in (state mismatch); start it again")]
    StateMismatch,
    /// No code came back.
    #[error("no authorization code was given")]
    MissingCode,
    /// The service does not accept the token or code.
    #[error("{what} was refused (HTTP {status}){}", detail(description.as_ref()))]
    Rejected {
        /// What was asked of the service.
        what: &'static str,
        status: u16,
        /// The service's own words.
        description: Option<String>,
    },
    /// The service failed, or asked to come back later.
    #[error("{what} failed (HTTP {status}){}", detail(description.as_ref()))]
    Service {
        /// What was asked of the service.
        what: &'static str,
        status: u16,
        /// The service's own words.
        description: Option<String>,
    },
    /// The service answered with something we cannot use.
    #[error("{what}: the answer {problem}")]
    Protocol {
        /// What was asked of the service.
        what: &'static str,
        /// What is wrong with the answer; never the answer.
        problem: String,
    },
    /// The service could not be reached, or the connection broke.
    #[error("{what}: {problem}")]
    Network {
        /// What was asked of the service.
        what: &'static str,
        problem: String,
        /// Whether the service may have seen the request.
        sent: bool,
    },
    /// Something took too long.
    #[error("{what} took longer than {} s", limit.as_secs())]
    TimedOut {
        /// What it was.
        what: &'static str,
        /// How long it may take.
        limit: Duration,
    },
    /// The person gave an answer that cannot be used.
    #[error("{0}")]
    InvalidInput(String),
    /// A fault of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

fn detail(description: Option<&String>) -> String {
    description.map_or_else(String::new, |text| format!(": {text}"))
}

impl OAuthError {
    /// Returns whether the service refused the credential itself, so that only a new sign-in helps.
    pub fn is_rejection(&self) -> bool {
        matches!(self, Self::Rejected { .. } | Self::Denied { .. })
    }

    /// Returns whether the person cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Returns whether trying again later may help.
    pub fn is_network(&self) -> bool {
        matches!(
            self,
            Self::Network { .. } | Self::TimedOut { .. } | Self::Service { .. }
        )
    }

    /// Returns whether it is certain that the service did not exchange the token that was sent.
    pub(crate) fn settles_the_token(&self) -> bool {
        match self {
            Self::Network { sent, .. } => !sent,
            Self::Service { status, .. } => *status == 429,
            Self::Rejected { .. } | Self::Denied { .. } => true,
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
