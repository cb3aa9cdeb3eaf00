//! How retrying a failed turn ended.

use pi_protocol::SessionEvent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RetryEnd {
    Succeeded,
    Failed(String),
    /// The delay was canceled.
    Canceled,
}

/// The error clients see when the delay was canceled.
const RETRY_CANCELED: &str = "Retry canceled";

impl RetryEnd {
    pub(crate) fn into_event(self, attempt: u32) -> SessionEvent {
        let canceled = self == Self::Canceled;
        let (success, final_error) = match self {
            Self::Succeeded => (true, None),
            Self::Failed(error) => (false, Some(error)),
            Self::Canceled => (false, Some(RETRY_CANCELED.to_owned())),
        };
        SessionEvent::AutoRetryEnd {
            success,
            attempt,
            final_error,
            canceled,
        }
    }
}
