//! The session files that a user can choose from: listing, naming, deleting.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;
use pi_protocol::{ListProgress, SessionInfo, SessionScope};
use pi_session::listing::{self, IsCanceled, MessageText};
use pi_session::{
    AccessMode, OpenSession, RemovalError, Session, SessionError, SessionStore, delete_session,
    sessions_root,
};

use crate::session::AgentSession;
use crate::workspace::Workspace;

/// The session files next to the one of a session. All methods block on disk access.
#[derive(Debug, Clone)]
pub struct SessionCatalog {
    agent_dir: PathBuf,
    cwd: PathBuf,
    /// Where the sessions of the project are.
    directory: PathBuf,
    env: Env,
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
        }
    }

    /// Lists sessions with their text, newest first; `None` if it was canceled.
    pub fn list(
        &self,
        scope: SessionScope,
        on_progress: &mut dyn FnMut(ListProgress),
        is_canceled: IsCanceled<'_>,
    ) -> Option<Vec<Arc<SessionInfo>>> {
        let listed = match scope {
            SessionScope::Project => {
                let store = SessionStore::custom(&self.directory, &self.agent_dir, &self.cwd);
                store.list(MessageText::Collect, on_progress, is_canceled)
            }
            SessionScope::All => {
                let root = sessions_root(&self.agent_dir);
                listing::list_all(&root, MessageText::Collect, on_progress, is_canceled)
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
