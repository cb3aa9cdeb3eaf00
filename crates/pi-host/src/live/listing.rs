//! Lists the sessions that other processes of the user run.

use std::time::SystemTime;

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
        let ids = self.ids();
        let asking = ids.iter().map(|id| self.session(id));
        let found = futures_util::future::join_all(asking).await;
        found.into_iter().flatten().collect()
    }

    /// Returns a session if it answers. The socket of a killed process is removed.
    pub async fn session(&self, id: &str) -> Option<LiveSession> {
        let created = self.socket_creation(id);
        match connect(self, id, true).await {
            Ok((link, first)) => {
                let state = first.state;
                let activity = state.status;
                Some(LiveSession {
                    id: id.to_owned(),
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
                // Another process may have bound a new socket meanwhile.
                if created.is_some()
                    && created == self.socket_creation(id)
                    && let Ok(socket) = self.find(id)
                {
                    self.remove(id, &socket);
                }
                None
            }
            Err(error) => {
                tracing::warn!(%error, session = id, "cannot describe a live session");
                None
            }
        }
    }

    /// Returns when the socket of a session was created; `None` if there is none.
    fn socket_creation(&self, id: &str) -> Option<SystemTime> {
        let socket = std::fs::symlink_metadata(self.find(id).ok()?);
        socket.ok()?.modified().ok()
    }
}
