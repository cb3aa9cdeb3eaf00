//! What the sessions of a process share, and the registry of those that are live.
//!
//! A front end with one session calls [`Host::start`] and owns the result. A server calls [`Host::open`] and
//! [`Host::attach`]: the host keeps such a session while clients come and go, and closes it when it has been idle
//! without a client for a while. Its file has everything, so attaching opens it again.

mod connections;
mod live_sessions;
mod options;
mod runtime_keys;
mod session_handle;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_env::Env;
use pi_protocol::settings::Settings;
use pi_session::listing::{SearchScope, TitleCache};
use pi_session::sessions_root;
use thiserror::Error;
use tokio::sync::watch;

pub use options::{FileSearch, HostOptions};
pub use runtime_keys::RuntimeKeys;
pub use session_handle::SessionHandle;
pub use trust::{TrustFlag, TrustPrompt, TrustResolution, TrustResolver};

pub(crate) use trust::resolve_trust;

use crate::mcp::SharedMcp;
use crate::native_extensions::KeptParts;
use crate::runtime::{SessionOptions, SessionRuntime, StartError};
use crate::session::AgentSession;
use crate::session_choice::SessionChoice;
use crate::workspace::{SharedWorkspaces, offline, offline_variables};
use connections::SharedConnections;
use live_sessions::LiveSessions;
use pi_search::{BackgroundIndexing, SessionSearch};
use trust::TrustDecisions;

/// How often idle sessions are looked for, as a fraction of the time after which they are closed.
const SWEEPS_PER_LIMIT: u32 = 4;

/// The sessions of a process and what they share. Handles are cheap to clone and refer to the same host.
#[derive(Clone)]
pub struct Host {
    options: Arc<HostOptions>,
    shared: Arc<HostState>,
}

#[derive(Default)]
struct HostState {
    decisions: TrustDecisions,
    keys: RuntimeKeys,
    http: SharedConnections,
    workspaces: SharedWorkspaces,
    mcp: SharedMcp,
    live: LiveSessions,
    titles: Arc<TitleCache>,
    indexing: BackgroundIndexing,
    kept: Arc<KeptParts>,
}

/// Why no session could be attached to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachError {
    #[error("there is no session with the ID \"{0}\"; list the sessions to see which exist")]
    NotFound(String),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Host {
    pub fn new(mut options: HostOptions) -> Self {
        if options.offline {
            options.env = offline(&options.env);
            options.child_environment.extend(offline_variables());
        }
        Self {
            options: Arc::new(options),
            shared: Arc::default(),
        }
    }

    /// Returns a host with other options that shares the connections, keys and decisions of this one.
    #[must_use]
    pub fn with_options(&self, change: impl FnOnce(&mut HostOptions)) -> Self {
        let mut options = HostOptions::clone(&self.options);
        change(&mut options);
        Self {
            options: Arc::new(options),
            shared: Arc::clone(&self.shared),
        }
    }

    pub fn options(&self) -> &HostOptions {
        &self.options
    }

    /// Returns the API keys of this run, which are never stored.
    pub fn keys(&self) -> &RuntimeKeys {
        &self.shared.keys
    }

    pub(crate) fn env(&self) -> &Env {
        &self.options.env
    }

    pub(crate) fn decisions(&self) -> &TrustDecisions {
        &self.shared.decisions
    }

    pub(crate) fn http(&self) -> &SharedConnections {
        &self.shared.http
    }

    pub(crate) fn mcp(&self) -> &SharedMcp {
        &self.shared.mcp
    }

    /// Returns what lists of sessions have shown.
    pub(crate) fn session_titles(&self) -> Arc<TitleCache> {
        Arc::clone(&self.shared.titles)
    }

    /// Returns the search over the stored sessions of the user.
    pub fn session_search(&self, cwd: &Path, settings: &Settings) -> SessionSearch {
        let (options, indexing) = (self.options(), self.shared.indexing.clone());
        let agent_dir = options.agent_dir.path();
        SessionSearch::new(agent_dir, cwd, settings, &options.env, indexing)
    }

    /// Returns what built-in extensions keep while their session is reloaded.
    pub fn kept_parts(&self) -> &Arc<KeptParts> {
        &self.shared.kept
    }

    pub(crate) fn workspaces(&self) -> &SharedWorkspaces {
        &self.shared.workspaces
    }

    /// Starts a session that the caller owns and shuts down.
    pub fn start(
        &self,
        options: SessionOptions,
    ) -> BoxFuture<'static, Result<SessionRuntime, StartError>> {
        // Boxed here, so that this crate alone contains the code, and not every front end.
        Box::pin(SessionRuntime::start(self.clone(), options))
    }

    /// Starts a session that the host keeps while clients attach and detach.
    pub async fn open(&self, options: SessionOptions) -> Result<SessionHandle, StartError> {
        let live = &self.shared.live;
        let _operation = live.begin_operation();
        let client_ui = options.client_ui.clone();
        live.open(self.start(options), client_ui).await
    }

    /// Attaches to a session: the live one, or the stored one with this ID, which is opened.
    ///
    /// `options` apply if it has to be opened; its working directory is the one it was created in.
    pub async fn attach(
        &self,
        id: &str,
        options: SessionOptions,
    ) -> Result<SessionHandle, AttachError> {
        let live = &self.shared.live;
        let _operation = live.begin_operation();
        // Opening or closing the same session at the same time would find its file locked.
        let _turn = live.lock(id).await;
        if let Some(attached) = live.attach(id) {
            return Ok(attached);
        }
        let (root, wanted) = (sessions_root(self.options.agent_dir.path()), id.to_owned());
        let finding = move || SearchScope::AllProjects(&root).find_by_id(&wanted);
        let found = tokio::task::spawn_blocking(finding).await.ok().flatten();
        let file = found.ok_or_else(|| AttachError::NotFound(id.to_owned()))?;
        let client_ui = options.client_ui.clone();
        let starting = self.start(SessionOptions {
            session: SessionChoice::Open(file),
            ..options
        });
        Ok(live.open(starting, client_ui).await?)
    }

    /// Waits until no client opens or closes the session. Until the guard is dropped, those that attach to it wait.
    pub(crate) async fn lock_session(&self, id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        self.shared.live.lock(id).await
    }

    /// Returns the paths below a directory that match a text, best first. Texts that leave the directory match nothing: they
    /// would list files of the whole machine.
    pub async fn find_files(&self, cwd: PathBuf, text: String) -> Vec<String> {
        let leaves =
            text.starts_with(['/', '~', '\\']) || text.split(['/', '\\']).any(|it| it == "..");
        match &self.options.files {
            Some(files) if !leaves => files(cwd, text).await,
            _ => Vec::new(),
        }
    }

    /// Lists the sessions that the host keeps.
    pub fn sessions(&self) -> Vec<AgentSession> {
        self.shared.live.sessions()
    }

    /// Watches for sessions that are opened or closed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.live.changes()
    }

    /// Closes a session, even if clients use it. Does nothing if it is not live.
    pub async fn close(&self, id: &str) {
        let _operation = self.shared.live.begin_operation();
        let _turn = self.shared.live.lock(id).await;
        if let Some(runtime) = self.shared.live.take(id) {
            runtime.shutdown().await;
        }
    }

    /// Closes the sessions that have been idle without a client for `limit`, and returns how many.
    pub async fn close_idle(&self, limit: Duration) -> usize {
        let _operation = self.shared.live.begin_operation();
        let mut closed = 0;
        for id in self.shared.live.idle(limit) {
            let _turn = self.shared.live.lock(&id).await;
            // A client may have attached since.
            if let Some(runtime) = self.shared.live.take_idle(&id, limit) {
                runtime.shutdown().await;
                closed += 1;
            }
        }
        closed
    }

    /// Keeps closing idle sessions. The future never resolves; drop it to stop.
    pub async fn keep_closing_idle(&self, limit: Duration) -> std::convert::Infallible {
        // An interval must not be zero.
        let period = (limit / SWEEPS_PER_LIMIT).max(Duration::from_millis(1));
        let mut sweeps = tokio::time::interval(period);
        sweeps.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            sweeps.tick().await;
            self.close_idle(limit).await;
        }
    }

    /// Shuts down the sessions that the host keeps. Sessions that are being opened are canceled, and later ones refused.
    pub async fn shutdown(&self) {
        self.shared.live.close().await;
        let ending = self.shared.live.take_all().into_iter();
        let ending = ending.map(|runtime| async move { runtime.shutdown().await });
        futures_util::future::join_all(ending).await;
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Host")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
