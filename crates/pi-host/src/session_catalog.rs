//! The session files that a user can choose from: listing, naming, deleting.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_config::session_directory;
use pi_env::Env;
use pi_protocol::{ListProgress, SessionInfo, SessionScope};
use pi_session::listing::{self, IsCanceled, MessageText, TitleCache};
use pi_session::{
    AccessMode, OpenSession, RemovalError, Session, SessionError, SessionStore, delete_session,
    sessions_root,
};

use crate::host::Host;
use crate::session::AgentSession;
use crate::workspace::ProjectProbe;
use crate::workspace::Workspace;

/// The session files next to the one of a session. All methods block on disk access.
#[derive(Debug, Clone)]
pub struct SessionCatalog {
    agent_dir: PathBuf,
    cwd: PathBuf,
    /// Where the sessions of the project are.
    directory: PathBuf,
    env: Env,
    titles: Arc<TitleCache>,
}

impl SessionCatalog {
    pub fn new(workspace: &Workspace, session: &AgentSession) -> Self {
        Self {
            agent_dir: workspace.agent_dir.path().to_owned(),
            cwd: session.cwd().to_owned(),
            directory: session
                .history()
                .with_session(|session| session.directory().to_owned()),
            env: workspace.env.clone(),
            titles: Arc::default(),
        }
    }

    /// Returns the sessions of a directory, without one that is open. `session_dir` is the value of `--session-dir`.
    pub fn for_directory(host: &Host, cwd: &Path, session_dir: Option<&str>) -> Self {
        let options = host.options();
        let probe = ProjectProbe::read(host, cwd);
        let settings = probe.settings().settings();
        let chosen = session_directory(session_dir, &options.env, &settings, cwd);
        let agent_dir = options.agent_dir.path();
        let directory = chosen.unwrap_or_else(|| {
            let store = SessionStore::default_for(agent_dir, cwd);
            store.path().to_owned()
        });
        Self {
            agent_dir: agent_dir.to_owned(),
            cwd: cwd.to_owned(),
            directory,
            env: options.env.clone(),
            titles: host.session_titles(),
        }
    }

    /// Lists sessions with what a list shows, newest first. Files that have not changed since the last call on the same
    /// host are not read again.
    pub fn list_titles(&self, scope: SessionScope) -> Vec<Arc<SessionInfo>> {
        match scope {
            SessionScope::Project => self.store().list_titles(&self.titles),
            SessionScope::All => {
                listing::list_all_titles(&sessions_root(&self.agent_dir), &self.titles)
            }
        }
    }

    fn store(&self) -> SessionStore {
        SessionStore::custom(&self.directory, &self.agent_dir, &self.cwd)
    }

    /// Lists sessions with their text, newest first; `None` if it was canceled.
    pub fn list(
        &self,
        scope: SessionScope,
        on_progress: &mut dyn FnMut(ListProgress),
        is_canceled: IsCanceled<'_>,
    ) -> Option<Vec<Arc<SessionInfo>>> {
        let text = MessageText::Collect;
        let listed = match scope {
            SessionScope::Project => self.store().list(text, on_progress, is_canceled),
            SessionScope::All => {
                let root = sessions_root(&self.agent_dir);
                listing::list_all(&root, text, on_progress, is_canceled)
            }
        };
        listed.ok()
    }

    /// Names a session that is not open in this process.
    pub fn rename(&self, path: &Path, name: &str) -> Result<(), SessionError> {
        let options = OpenSession {
            access: AccessMode::Write,
            env: self.env.clone(),
            ..OpenSession::default()
        };
        Session::open(path, options)?.set_name(name).map(drop)
    }

    pub fn delete(&self, path: &Path) -> Result<(), RemovalError> {
        delete_session(path).map(drop)
    }
}
