//! The order of the session list.

use std::sync::Arc;

use pi_protocol::SessionInfo;

use super::query::SessionQuery;
use super::thread::{ThreadedSession, threads};

/// How the list is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionOrder {
    Threads,
    Recent,
    Relevance,
}

impl SessionOrder {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Threads => Self::Recent,
            Self::Recent => Self::Relevance,
            Self::Relevance => Self::Threads,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Recent => "recent",
            Self::Relevance => "relevance",
        }
    }

    /// Returns the sessions that match, in this order. Threads are shown while nothing is searched.
    pub(super) fn arrange(
        self,
        sessions: Vec<Arc<SessionInfo>>,
        query: &SessionQuery,
    ) -> Vec<ThreadedSession> {
        if self == Self::Threads && query.is_empty() {
            return threads(&sessions);
        }
        let mut found: Vec<(f64, Arc<SessionInfo>)> = sessions
            .into_iter()
            .filter_map(|session| Some((query.score(&session)?, session)))
            .collect();
        if self != Self::Recent && !query.is_empty() {
            pi_protocol::sort_by(&mut found, |(first, one), (second, other)| {
                let newest_first = other.modified_ms.cmp(&one.modified_ms);
                first.total_cmp(second).then(newest_first)
            });
        }
        found
            .into_iter()
            .map(|(_, session)| ThreadedSession::unthreaded(session))
            .collect()
    }
}
