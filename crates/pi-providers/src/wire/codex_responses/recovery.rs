//! Decides what follows a failed WebSocket attempt: retry, fall back to HTTP, or fail.
//!
//! This only decides; [`super::websocket`] acts on it.

use pi_protocol::ProviderError;

/// The service no longer has the response that a request continues from.
const CONTINUATION_LOST: &str = "previous_response_not_found";

/// The account has too many connections open.
const TOO_MANY_CONNECTIONS: &str = "websocket_connection_limit_reached";

#[derive(Debug)]
pub(super) enum AttemptError {
    /// The service reported an error.
    Service {
        error: ProviderError,
        code: Option<String>,
    },
    /// The connection could not be established, or broke.
    Connection {
        error: ProviderError,
        /// The close code sent by the service.
        close_code: Option<u16>,
    },
}

impl AttemptError {
    pub(super) fn into_error(self) -> ProviderError {
        match self {
            Self::Service { error, .. } | Self::Connection { error, .. } => error,
        }
    }

    fn code(&self) -> Option<&str> {
        match self {
            Self::Service { code, .. } => code.as_deref(),
            Self::Connection { .. } => None,
        }
    }
}

impl From<ProviderError> for AttemptError {
    fn from(error: ProviderError) -> Self {
        Self::Connection {
            error,
            close_code: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptProgress {
    /// The connection came from the pool.
    pub reused: bool,
    /// A part of the response had arrived.
    pub response_started: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecoveryAction {
    /// Send the same request on a new connection.
    Retry,
    /// Send the same request over HTTP.
    UseHttp,
    /// Fail the request.
    Fail,
}

/// Tracks the recovery attempts of one request; each kind is tried once.
#[derive(Debug, Default)]
pub(super) struct WebSocketRecovery {
    resent_in_full: bool,
    retried_after_limit: bool,
    reconnected: bool,
}

impl WebSocketRecovery {
    /// Decides how to continue after a failed attempt.
    pub(super) fn after(
        &mut self,
        failure: &AttemptError,
        progress: AttemptProgress,
    ) -> RecoveryAction {
        let first_time = |done: &mut bool| !std::mem::replace(done, true);
        if progress.response_started {
            return RecoveryAction::Fail;
        }
        match (failure, failure.code()) {
            (_, Some(CONTINUATION_LOST)) if first_time(&mut self.resent_in_full) => {
                RecoveryAction::Retry
            }
            (_, Some(TOO_MANY_CONNECTIONS)) => {
                if first_time(&mut self.retried_after_limit) {
                    RecoveryAction::Retry
                } else {
                    RecoveryAction::UseHttp
                }
            }
            (AttemptError::Service { .. }, _) => RecoveryAction::Fail,
            // A pooled connection may have died unnoticed, which does not affect a new one.
            (AttemptError::Connection { .. }, _)
                if progress.reused && first_time(&mut self.reconnected) =>
            {
                RecoveryAction::Retry
            }
            (AttemptError::Connection { .. }, _) => RecoveryAction::UseHttp,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn service(code: &str) -> AttemptError {
        AttemptError::Service {
            error: ProviderError::protocol("rejected"),
            code: Some(code.to_owned()),
        }
    }

    #[test]
    fn each_recovery_is_tried_once() {
        use RecoveryAction::{Fail, Retry, UseHttp};
        let broken = || AttemptError::from(ProviderError::network("broken"));
        let progress = |reused, response_started| AttemptProgress {
            reused,
            response_started,
        };
        let cases: [(AttemptError, AttemptProgress, [RecoveryAction; 2]); 8] = [
            (
                service(CONTINUATION_LOST),
                progress(true, false),
                [Retry, Fail],
            ),
            (
                service(CONTINUATION_LOST),
                progress(true, true),
                [Fail, Fail],
            ),
            (
                service(TOO_MANY_CONNECTIONS),
                progress(false, false),
                [Retry, UseHttp],
            ),
            (
                service("usage_limit_reached"),
                progress(false, false),
                [Fail, Fail],
            ),
            (broken(), progress(false, false), [UseHttp, UseHttp]),
            (broken(), progress(true, false), [Retry, UseHttp]),
            (broken(), progress(false, true), [Fail, Fail]),
            (broken(), progress(true, true), [Fail, Fail]),
        ];
        for (failure, progress, actions) in cases {
            let mut recovery = WebSocketRecovery::default();
            let taken = [(); 2].map(|()| recovery.after(&failure, progress));
            assert_eq!(taken, actions, "{failure:?} {progress:?}");
        }
    }
}
