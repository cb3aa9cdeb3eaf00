//! Which session a program works with: a new one, one that is named, the last one, a copy.
//!
//! What the flags mean together is decided here, and where a name leads; opening and copying is
//! `pi-session`'s.

use std::path::{Path, PathBuf};

use pi_ai::Env;
use pi_config::{AgentDir, ConfigDiagnostic, DiagnosticLevel};
use pi_session::listing::{self, FoundSession, SearchScope};
use pi_session::{
    Access, InvalidSessionId, NewSession, OpenSession, Session, SessionDirectory, SessionError,
    check_session_id, sessions_root,
};
use pi_tools::{PathBase, PathError};
use thiserror::Error;

/// The session to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionChoice {
    /// One without a file.
    InMemory {
        /// Its id; drawn if absent.
        id: Option<String>,
    },
    New {
        /// Its id; drawn if absent.
        id: Option<String>,
        /// The session file it comes from.
        parent: Option<PathBuf>,
    },
    /// The one with exactly this id, or a new one with it.
    WithId(String),
    /// The one that was written to last, or a new one.
    ContinueRecent,
    /// The one a user names by its file, its id or the beginning of its id.
    Named(String),
    /// The one in this file.
    Open(PathBuf),
    /// A copy of one that is named by its file or id.
    Fork {
        /// The session that is copied.
        source: String,
        /// The copy's id; drawn if absent.
        id: Option<String>,
    },
}

impl Default for SessionChoice {
    fn default() -> Self {
        Self::New {
            id: None,
            parent: None,
        }
    }
}

/// What a command line says about the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFlags {
    /// `--no-session`.
    pub no_session: bool,
    /// `--fork`.
    pub fork: Option<String>,
    /// `--session`.
    pub session: Option<String>,
    /// `--resume`.
    pub resume: bool,
    /// `--continue`.
    pub continue_recent: bool,
    /// `--session-id`.
    pub session_id: Option<String>,
}

/// Why flags make no choice.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SessionFlagsError {
    /// Some of them contradict each other.
    #[error("{flag} cannot be combined with {}", others.join(", "))]
    Conflict {
        /// The flag.
        flag: &'static str,
        /// What it contradicts.
        others: Vec<&'static str>,
    },
    /// The id cannot be one.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
}

impl SessionFlags {
    /// Fails where flags contradict each other.
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

    /// Makes the choice; `None` leaves it to the user, who is to pick a session (`--resume`).
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

/// Why the chosen session is not there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionChoiceError {
    /// No session has the id.
    #[error("no session matches \"{0}\"")]
    NotFound(String),
    /// The session belongs to another project. The user may want a copy: [`SessionChoice::Fork`].
    #[error("the session {} belongs to another project, {cwd}", path.display())]
    OtherProject { path: PathBuf, cwd: String },
    /// The path cannot be understood.
    #[error("the path {0}")]
    Path(#[from] PathError),
    /// The session cannot be opened or created.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Where sessions are looked for and created.
#[derive(Debug, Clone)]
pub(crate) struct SessionResolver {
    pub(crate) agent_dir: AgentDir,
    /// The directory the user chose.
    pub(crate) chosen: Option<PathBuf>,
    pub(crate) cwd: PathBuf,
    /// The directory to work in, instead of the one a session names.
    pub(crate) cwd_override: Option<PathBuf>,
    pub(crate) env: Env,
}

impl SessionResolver {
    /// Returns the directory of the sessions of the working directory.
    pub(crate) fn directory(&self) -> SessionDirectory {
        let agent = self.agent_dir.path();
        match &self.chosen {
            Some(chosen) => SessionDirectory::chosen(chosen, agent, &self.cwd),
            None => SessionDirectory::default_for(agent, &self.cwd),
        }
    }

    /// Opens or creates the chosen session. This blocks on the disk.
    pub(crate) fn open(
        &self,
        choice: SessionChoice,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Result<Session, SessionChoiceError> {
        let directory = self.directory();
        let new = |id: Option<String>, parent_session: Option<PathBuf>| NewSession {
            id,
            parent_session,
            env: self.env.clone(),
        };
        Ok(match choice {
            SessionChoice::InMemory { id } => Session::in_memory(&self.cwd, new(id, None))?,
            SessionChoice::New { id, parent } => Session::create(&directory, new(id, parent))?,
            SessionChoice::WithId(id) => match listing::find_by_id(&directory, &id) {
                Some(path) => self.open_file(&path)?,
                None => {
                    diagnostics.push(ConfigDiagnostic {
                        level: DiagnosticLevel::Warning,
                        message: format!("this project has no session \"{id}\"; a new one begins"),
                        path: None,
                    });
                    Session::create(&directory, new(Some(id), None))?
                }
            },
            SessionChoice::ContinueRecent => Session::continue_recent(&directory, &self.env)?,
            SessionChoice::Open(path) => self.open_file(&path)?,
            SessionChoice::Named(name) => match self.find(&name)? {
                ResolvedSession::File(path) => self.open_file(&path)?,
                ResolvedSession::OtherProject { path, cwd } => {
                    return Err(SessionChoiceError::OtherProject { path, cwd });
                }
            },
            SessionChoice::Fork { source, id } => {
                let (ResolvedSession::File(source) | ResolvedSession::OtherProject { path: source, .. }) =
                    self.find(&source)?;
                Session::fork_file(&source, &directory, new(id, None))?
            }
        })
    }

    /// Opens a file; new sessions made from it go where the user chose.
    pub(crate) fn open_file(&self, path: &Path) -> Result<Session, SessionError> {
        let options = OpenSession {
            access: Access::Write,
            directory: self.chosen.clone(),
            cwd: self.cwd_override.clone(),
            env: self.env.clone(),
        };
        match Session::open(path, options) {
            // A path that leads nowhere is where the session shall be.
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
            let base = PathBase {
                cwd: self.cwd.clone(),
                home: self.env.home_dir(),
            };
            return Ok(ResolvedSession::File(base.resolve(name)?));
        }
        let directory = self.directory();
        let root = sessions_root(self.agent_dir.path());
        let scope = match &self.chosen {
            Some(chosen) => SearchScope::Within(chosen),
            None => SearchScope::Everywhere(&root),
        };
        match listing::find(&directory, scope, name) {
            Some(FoundSession::Here(path)) => Ok(ResolvedSession::File(path)),
            Some(FoundSession::Elsewhere { path, cwd }) => Ok(ResolvedSession::OtherProject { path, cwd }),
            None => Err(SessionChoiceError::NotFound(name.to_owned())),
        }
    }
}

/// Where a name leads.
enum ResolvedSession {
    File(PathBuf),
    OtherProject { path: PathBuf, cwd: String },
}

#[cfg(test)]
mod tests;
