//! Lists the sessions that other processes of the user run.

use std::time::{Duration, SystemTime};

use pi_protocol::{
    ActivityKind, ClientHello, ClientRight, Command, ExtensionCost, SessionActivity,
};
use pi_session::listing::{self, SearchScope};
use pi_session::sessions_root;
use tokio::time::Instant;

use super::LiveDirectory;
use super::LiveSocketError;
use super::RemoteError;
use super::remote_session::connect;

/// How long a session that was just opened may take until it listens.
const SOCKET_TIME: Duration = Duration::from_secs(5);

const SOCKET_PAUSE: Duration = Duration::from_millis(50);

/// A session that a process of the user runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    pub id: String,
    pub name: Option<String>,
    pub cwd: String,
    /// The process that runs it, where the system reports it.
    pub pid: Option<u32>,
    pub activity: SessionActivity,
    /// Number of questions that wait for an answer.
    pub pending_requests: usize,
    /// Number of clients of other processes.
    pub observers: usize,
}

impl LiveSession {
    /// Whether a run or a compaction is in progress.
    pub fn is_busy(&self) -> bool {
        self.activity.kind != ActivityKind::Idle || self.activity.is_compacting
    }
}

impl LiveDirectory {
    /// Returns the sessions that answer. Sockets of killed processes are removed.
    pub async fn list(&self) -> Vec<LiveSession> {
        let ids = self.ids();
        let asking = ids.iter().map(|id| self.session(id));
        let found = futures_util::future::join_all(asking).await;
        found.into_iter().flatten().collect()
    }

    /// Returns the sessions that answer, like [`Self::list`]. If none of them is wanted, but a process has a session
    /// with this ID or start of an ID open, waits a while: a session listens shortly after it was opened.
    pub async fn list_with(
        &self,
        id: &str,
        is_wanted: impl Fn(&LiveSession) -> bool,
    ) -> Vec<LiveSession> {
        let mut sessions = self.list().await;
        let deadline = Instant::now() + SOCKET_TIME;
        while !sessions.iter().any(&is_wanted) && self.may_listen_soon(id, deadline).await {
            sessions = self.list().await;
        }
        sessions
    }

    /// Returns whether a session has a socket; one of a killed process may be left over. If a process has the session
    /// open, waits a while for its socket.
    pub async fn has_socket(&self, id: &str) -> bool {
        let deadline = Instant::now() + SOCKET_TIME;
        loop {
            if self.find(id).is_ok_and(|socket| socket.exists()) {
                return true;
            }
            if !self.may_listen_soon(id, deadline).await {
                return false;
            }
        }
    }

    /// Pauses before the next look for the socket of a session. Returns `false` if no process has it open, or once the
    /// deadline has passed.
    async fn may_listen_soon(&self, id: &str, deadline: Instant) -> bool {
        let may_listen = Instant::now() < deadline && self.is_open(id).await;
        if may_listen {
            tokio::time::sleep(SOCKET_PAUSE).await;
        }
        may_listen
    }

    /// Whether a process has a session open whose ID starts with this.
    async fn is_open(&self, id: &str) -> bool {
        let Some(root) = self.agent_dir().map(sessions_root) else {
            return false;
        };
        let id = id.to_owned();
        let checked = tokio::task::spawn_blocking(move || {
            listing::is_open_elsewhere(SearchScope::AllProjects(&root), &id)
        });
        checked.await.unwrap_or_default()
    }

    /// Returns a session if it answers. The socket of a killed process is removed.
    pub async fn session(&self, id: &str) -> Option<LiveSession> {
        let created = self.socket_creation(id);
        let hello = ClientHello {
            right: Some(ClientRight::View),
            listing: true,
            ..ClientHello::default()
        };
        match connect(self, id, hello).await {
            Ok((link, first)) => {
                let state = first.state;
                Some(LiveSession {
                    id: id.to_owned(),
                    name: state.name,
                    cwd: state.cwd,
                    pid: link.pid,
                    activity: state.status,
                    pending_requests: state.pending.len(),
                    observers: state.observers,
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

    /// Returns what the extensions of a session cost.
    pub async fn extension_costs(&self, id: &str) -> Result<Vec<ExtensionCost>, RemoteError> {
        let hello = ClientHello {
            right: Some(ClientRight::View),
            listing: true,
            ..ClientHello::default()
        };
        let (mut link, _) = connect(self, id, hello).await?;
        let commands = link.commands.clone();
        let request = commands.request(&Command::GetExtensionCosts);
        let reading = async { while link.next().await.is_some() {} };
        let data = tokio::select! {
            biased;
            data = request => data?,
            () = reading => return Err(RemoteError::Ended),
        };
        let extensions = data.get("extensions").cloned().unwrap_or_default();
        pi_protocol::json::from_value(&extensions).map_err(RemoteError::protocol)
    }

    /// Returns when the socket of a session was created; `None` if there is none.
    pub(super) fn socket_creation(&self, id: &str) -> Option<SystemTime> {
        let socket = std::fs::symlink_metadata(self.find(id).ok()?);
        socket.ok()?.modified().ok()
    }
}
