//! Selection of the session at startup: new, named, most recent, or a copy.
//!
//! This file interprets the combination of flags and resolves names; `pi-session` opens and copies
//! files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use pi_config::AgentDir;
use pi_env::Env;
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use pi_session::listing::{FoundSession, SearchScope};
use pi_session::{
    AccessMode, InvalidSessionId, NewSession, OpenSession, Session, SessionError, SessionStore,
    check_session_id, sessions_root,
};
use pi_tools::{PathError, PathResolver};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionChoice {
    /// A session without a file.
    InMemory {
        /// Its ID; generated if absent.
        id: Option<String>,
    },
    New {
        /// Its ID; generated if absent.
        id: Option<String>,
        /// The parent session file.
        parent: Option<PathBuf>,
    },
    /// A new session in a file of its own place, which does not exist.
    NewAt {
        path: PathBuf,
        id: String,
        /// The parent session file.
        parent: Option<PathBuf>,
    },
    /// The session with exactly this ID; created if it does not exist.
    WithId(String),
    /// The most recently written session; a new one if there is none.
    ContinueRecent,
    /// A session given by file, ID or ID prefix.
    Named(String),
    /// The session in this file.
    Open(PathBuf),
    /// A session that is open already.
    Opened(OpenedSession),
    /// A copy of a session given by file or ID.
    Fork {
        source: String,
        /// The ID of the copy; generated if absent.
        id: Option<String>,
    },
}

/// An open session, for the runtime that takes it first.
#[derive(Debug, Clone)]
pub struct OpenedSession(Arc<Mutex<Option<Session>>>);

impl OpenedSession {
    pub fn new(session: Session) -> Self {
        Self(Arc::new(Mutex::new(Some(session))))
    }

    fn take(&self) -> Option<Session> {
        let mut session = self.0.lock();
        session.take()
    }
}

impl PartialEq for OpenedSession {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OpenedSession {}

impl Default for SessionChoice {
    fn default() -> Self {
        Self::New {
            id: None,
            parent: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFlags {
    pub no_session: bool,
    pub fork: Option<String>,
    pub session: Option<String>,
    pub resume: bool,
    pub continue_recent: bool,
    pub session_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SessionFlagsError {
    #[error("{flag} cannot be combined with {}", others.join(", "))]
    Conflict {
        flag: &'static str,
        others: Vec<&'static str>,
    },
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
}

impl SessionFlags {
    /// Fails if flags contradict each other.
    pub fn check(&self) -> Result<(), SessionFlagsError> {
        let given = |flags: &[(&'static str, bool)]| -> Vec<&'static str> {
            let given = flags.iter().filter(|(_, given)| *given);
            given.map(|(flag, _)| *flag).collect()
        };
        let conflict = |flag, others: Vec<&'static str>| {
            if others.is_empty() {
                return Ok(());
            }
            Err(SessionFlagsError::Conflict { flag, others })
        };
        let choosing = [
            ("--session", self.session.is_some()),
            ("--continue", self.continue_recent),
            ("--resume", self.resume),
        ];
        if self.fork.is_some() {
            let mut others = given(&choosing);
            others.extend(given(&[("--no-session", self.no_session)]));
            conflict("--fork", others)?;
        }
        if let Some(id) = &self.session_id {
            conflict("--session-id", given(&choosing))?;
            check_session_id(id)?;
        }
        Ok(())
    }

    /// Returns the choice; `None` if the user picks a session (`--resume`).
    pub fn choice(self) -> Result<Option<SessionChoice>, SessionFlagsError> {
        self.check()?;
        let id = self.session_id;
        Ok(Some(if self.no_session {
            SessionChoice::InMemory { id }
        } else if let Some(source) = self.fork {
            SessionChoice::Fork { source, id }
        } else if let Some(name) = self.session {
            SessionChoice::Named(name)
        } else if self.resume {
            return Ok(None);
        } else if self.continue_recent {
            SessionChoice::ContinueRecent
        } else if let Some(id) = id {
            SessionChoice::WithId(id)
        } else {
            SessionChoice::default()
        }))
    }
}

/// Why the chosen session cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionChoiceError {
    #[error("no session matches \"{0}\"")]
    NotFound(String),
    /// The session belongs to another project. To use a copy, see [`SessionChoice::Fork`].
    #[error("session {} belongs to another project: {cwd}", path.display())]
    OtherProject { path: PathBuf, cwd: String },
    #[error("invalid path: {0}")]
    Path(#[from] PathError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Resolves, opens and creates sessions.
#[derive(Debug, Clone)]
pub(crate) struct SessionResolver {
    pub(crate) agent_dir: AgentDir,
    /// The session directory set by the user.
    pub(crate) chosen: Option<PathBuf>,
    pub(crate) cwd: PathBuf,
    /// Working directory to use instead of the session's own.
    pub(crate) cwd_override: Option<PathBuf>,
    pub(crate) env: Env,
}

impl SessionResolver {
    /// Returns the sessions of the working directory.
    pub(crate) fn store(&self) -> SessionStore {
        let agent = self.agent_dir.path();
        match &self.chosen {
            Some(chosen) => SessionStore::custom(chosen, agent, &self.cwd),
            None => SessionStore::default_for(agent, &self.cwd),
        }
    }

    /// Opens or creates the chosen session. Blocking.
    pub(crate) fn open(
        &self,
        choice: SessionChoice,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Result<Session, SessionChoiceError> {
        let store = self.store();
        let new = |id: Option<String>, parent_session: Option<PathBuf>| NewSession {
            id,
            parent_session,
            env: self.env.clone(),
        };
        Ok(match choice {
            SessionChoice::InMemory { id } => Session::in_memory(&self.cwd, new(id, None))?,
            SessionChoice::New { id, parent } => store.create(new(id, parent))?,
            SessionChoice::NewAt { path, id, parent } => {
                Session::create_at(&path, &self.cwd, new(Some(id), parent))?
            }
            SessionChoice::WithId(id) => match store.find_by_id(&id) {
                Some(path) => self.open_file(&path)?,
                None => {
                    diagnostics.push(ConfigDiagnostic {
                        level: DiagnosticLevel::Warning,
                        message: format!(
                            "session \"{id}\" not found in this project; starting a new one"
                        ),
                        path: None,
                    });
                    store.create(new(Some(id), None))?
                }
            },
            SessionChoice::ContinueRecent => store.continue_recent(&self.env)?,
            SessionChoice::Open(path) => self.open_file(&path)?,
            SessionChoice::Opened(opened) => opened.take().ok_or(SessionError::Closed)?,
            SessionChoice::Named(name) => match self.find(&name)? {
                ResolvedSession::File(path) => self.open_file(&path)?,
                ResolvedSession::OtherProject { path, cwd } => {
                    return Err(SessionChoiceError::OtherProject { path, cwd });
                }
            },
            SessionChoice::Fork { source, id } => {
                let (ResolvedSession::File(source)
                | ResolvedSession::OtherProject { path: source, .. }) = self.find(&source)?;
                store.fork_file(&source, new(id, None))?
            }
        })
    }

    /// Opens a file; sessions derived from it go to the user's session directory.
    pub(crate) fn open_file(&self, path: &Path) -> Result<Session, SessionError> {
        let options = OpenSession {
            access: AccessMode::Write,
            directory: self.chosen.clone(),
            cwd: self.cwd_override.clone(),
            env: self.env.clone(),
            ..OpenSession::default()
        };
        match Session::open(path, options) {
            // Create the session at a path that does not exist.
            Err(SessionError::Missing { .. }) => {
                let new = NewSession {
                    env: self.env.clone(),
                    ..NewSession::default()
                };
                Session::create_at(path, &self.cwd, new)
            }
            opened => opened,
        }
    }

    fn find(&self, name: &str) -> Result<ResolvedSession, SessionChoiceError> {
        let is_file = Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        if is_file || name.contains(['/', '\\']) {
            let base = PathResolver {
                cwd: self.cwd.clone(),
                home: self.env.home_dir(),
            };
            return Ok(ResolvedSession::File(base.resolve(name)?));
        }
        let store = self.store();
        let root = sessions_root(self.agent_dir.path());
        let scope = match &self.chosen {
            Some(chosen) => SearchScope::Directory(chosen),
            None => SearchScope::AllProjects(&root),
        };
        match store.find(scope, name) {
            Some(FoundSession::Local(path)) => Ok(ResolvedSession::File(path)),
            Some(FoundSession::OtherProject { path, cwd }) => {
                Ok(ResolvedSession::OtherProject { path, cwd })
            }
            None => Err(SessionChoiceError::NotFound(name.to_owned())),
        }
    }
}

enum ResolvedSession {
    File(PathBuf),
    OtherProject { path: PathBuf, cwd: String },
}

#[cfg(test)]
mod tests;
