//! What to do when an attempt over WebSocket fails: ask again, go over HTTP, or give up.
//!
//! This decides and does nothing; [`super::websocket`] acts on it.

use crate::error::ProviderError;

/// The service no longer knows the response a request goes on from.
const CONTINUATION_LOST: &str = "previous_response_not_found";

/// The account has too many connections open.
const TOO_MANY_CONNECTIONS: &str = "websocket_connection_limit_reached";

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// The service said so.
    Service {
        error: ProviderError,
        /// Its code for that.
        code: Option<String>,
    },
    /// The connection could not be made, or broke.
    Connection {
        error: ProviderError,
        /// The code the service closed the connection with.
        close_code: Option<u16>,
    },
}

impl AttemptError {
    /// Returns what happened.
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

/// How far an attempt had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptProgress {
    /// The connection had served before.
    pub reused: bool,
    /// Some of the answer had arrived.
    pub answered: bool,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The same request on a new connection.
    TryAgain,
    /// The same request over HTTP.
    UseHttp,
    /// Nothing: the request has failed.
    GiveUp,
}

/// Remembers what was tried for one request; each remedy is tried once.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    sent_whole: bool,
    waited_for_room: bool,
    renewed: bool,
}

impl Recovery {
    /// Decides what comes after a failed attempt.
    pub(super) fn after(&mut self, failure: &AttemptError, progress: AttemptProgress) -> NextStep {
        let first = |tried: &mut bool| !std::mem::replace(tried, true);
        if progress.answered {
            return NextStep::GiveUp;
        }
        match (failure, failure.code()) {
            (_, Some(CONTINUATION_LOST)) if first(&mut self.sent_whole) => NextStep::TryAgain,
            (_, Some(TOO_MANY_CONNECTIONS)) => {
                if first(&mut self.waited_for_room) {
                    NextStep::TryAgain
                } else {
                    NextStep::UseHttp
                }
            }
            (AttemptError::Service { .. }, _) => NextStep::GiveUp,
            // A kept connection may have died unnoticed, which says nothing about a new one.
            (AttemptError::Connection { .. }, _) if progress.reused && first(&mut self.renewed) => {
                NextStep::TryAgain
            }
            (AttemptError::Connection { .. }, _) => NextStep::UseHttp,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn service(code: &str) -> AttemptError {
        AttemptError::Service {
            error: ProviderError::protocol("said no"),
            code: Some(code.to_owned()),
        }
    }

    #[test]
    fn each_remedy_is_tried_once() {
        use NextStep::{GiveUp, TryAgain, UseHttp};
        let broken = || AttemptError::from(ProviderError::network("broken"));
        let progress = |reused, answered| AttemptProgress { reused, answered };
        let cases: [(AttemptError, AttemptProgress, [NextStep; 2]); 8] = [
            (
                service(CONTINUATION_LOST),
                progress(true, false),
                [TryAgain, GiveUp],
            ),
            (
                service(CONTINUATION_LOST),
                progress(true, true),
                [GiveUp, GiveUp],
            ),
            (
                service(TOO_MANY_CONNECTIONS),
                progress(false, false),
                [TryAgain, UseHttp],
            ),
            (
                service("usage_limit_reached"),
                progress(false, false),
                [GiveUp, GiveUp],
            ),
            (broken(), progress(false, false), [UseHttp, UseHttp]),
            (broken(), progress(true, false), [TryAgain, UseHttp]),
            (broken(), progress(false, true), [GiveUp, GiveUp]),
            (broken(), progress(true, true), [GiveUp, GiveUp]),
        ];
        for (failure, progress, steps) in cases {
            let mut recovery = Recovery::default();
            let taken = [(); 2].map(|()| recovery.after(&failure, progress));
            assert_eq!(taken, steps, "{failure:?} {progress:?}");
        }
    }
}
