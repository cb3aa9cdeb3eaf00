//! Lists the sessions that other processes of the user run.

use pi_protocol::ActivityKind;

use super::LiveDirectory;
use super::LiveSocketError;
use super::remote_session::{RemoteError, connect};

/// A session that a process of the user runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    pub id: String,
    pub name: Option<String>,
    pub cwd: String,
    /// The process that runs it, where the system reports it.
    pub pid: Option<u32>,
    /// Whether a run or a compaction is in progress.
    pub is_busy: bool,
    /// Number of questions that wait for an answer.
    pub pending_requests: usize,
    /// Number of clients of other processes.
    pub observers: usize,
}

impl LiveDirectory {
    /// Returns the sessions that answer. Sockets of killed processes are removed.
    pub async fn list(&self) -> Vec<LiveSession> {
        let asking = self.ids().into_iter().map(|id| self.describe(id));
        let found = futures_util::future::join_all(asking).await;
        found.into_iter().flatten().collect()
    }

    async fn describe(&self, id: String) -> Option<LiveSession> {
        match connect(self, &id, true).await {
            Ok((link, first)) => {
                let state = first.state;
                let activity = state.status;
                Some(LiveSession {
                    id,
                    name: state.name,
                    cwd: state.cwd,
                    pid: link.pid,
                    is_busy: activity.kind != ActivityKind::Idle || activity.is_compacting,
                    pending_requests: state.pending.len(),
                    // This connection is one of them.
                    observers: state.observers.saturating_sub(1),
                })
            }
            Err(RemoteError::Socket(LiveSocketError::NotLive(_))) => {
                if let Ok(socket) = self.find(&id) {
                    self.remove(&id, &socket);
                }
                None
            }
            Err(error) => {
                tracing::warn!(%error, session = id, "cannot describe a live session");
                None
            }
        }
    }
}
