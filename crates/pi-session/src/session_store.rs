//! The sessions of a working directory: creating, finding, continuing, copying.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_env::Env;
use pi_fs::{LockDir, LockError, LockTiming, private};
use pi_protocol::{SessionHeader, timestamp};

use crate::directory::{directory_name, file_name, resolve, sessions_root};
use crate::error::SessionError;
use crate::session::append::write_new_file;
use crate::session::session_from_journal;
use crate::session::{
    NewSession, OpenSession, Session, SessionLocation, create_directory, encode_record,
};
use crate::session_id::{check_session_id, new_session_id};
use crate::storage::{AccessMode, DiskStorage};

/// How long a process waits for another one that creates a session with the same ID. The lock of a killed process
/// expires while it waits.
const ID_LOCK: LockTiming = LockTiming {
    stale: Duration::from_secs(10),
    patience: Duration::from_secs(12),
    max_delay: Duration::from_millis(50),
    renewal: None,
};

/// The sessions of one working directory.
///
/// Their default directory may also contain sessions of a working directory with a similar path,
/// such as `a-b` and `a/b`, and a custom directory those of any working directory. Lookups check the
/// headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStore {
    path: PathBuf,
    cwd: PathBuf,
    shared: bool,
}

impl SessionStore {
    /// Returns the store of a working directory in its default directory, below the agent directory.
    pub fn default_for(agent_directory: &Path, cwd: &Path) -> Self {
        let cwd = resolve(cwd);
        Self {
            path: sessions_root(agent_directory).join(directory_name(&cwd)),
            cwd,
            shared: false,
        }
    }

    /// Returns the store of a working directory in a directory chosen by the user.
    pub fn custom(path: &Path, agent_directory: &Path, cwd: &Path) -> Self {
        let default = Self::default_for(agent_directory, cwd);
        let path = resolve(path);
        Self {
            shared: path != default.path,
            cwd: default.cwd,
            path,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the working directory whose sessions are looked up.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns whether a session with this working directory in its header belongs to this store.
    pub fn accepts_cwd(&self, cwd: &str) -> bool {
        if cwd.is_empty() {
            return !self.shared;
        }
        let cwd = resolve(Path::new(cwd));
        // A session that the user moved here belongs to the directory; one that pi wrote here for
        // another working directory does not.
        let is_elsewhere = || directory_name(&cwd) != directory_name(&self.cwd);
        // A header is text: bytes of a path that are not UTF-8 are replaced in it.
        let is_same = cwd.to_string_lossy() == self.cwd.to_string_lossy();
        is_same || (!self.shared && is_elsewhere())
    }

    /// Returns the file of a new session.
    fn file_path(&self, header: &SessionHeader) -> PathBuf {
        let name = file_name(&header.timestamp, &header.id);
        self.path.join(name)
    }

    /// Fails if the ID is invalid or another session of this store has it.
    fn check_new_id(&self, id: Option<&str>) -> Result<(), SessionError> {
        let Some(id) = id else {
            return Ok(());
        };
        check_session_id(id)?;
        match self.find_by_id(id) {
            Some(path) => Err(SessionError::IdTaken {
                id: id.to_owned(),
                path,
            }),
            None => Ok(()),
        }
    }

    /// Reserves an ID for a session file that is about to be written: until the lock is dropped, no other process
    /// writes one with this ID. Fails if another session has it.
    pub(crate) fn lock_new_id(&self, id: &str) -> Result<LockDir, SessionError> {
        create_directory(&self.path)?;
        let file = self.path.join(id);
        let lock = LockDir::acquire(&file, ID_LOCK).map_err(|error| SessionError::Unwritable {
            path: file,
            source: match error {
                LockError::Held => io::Error::new(io::ErrorKind::WouldBlock, error),
                LockError::Io(source) => source,
            },
        })?;
        self.check_new_id(Some(id))?;
        Ok(lock)
    }

    /// Creates a session. The directory is created immediately, the file with the first message for
    /// a model. If a process was killed before it created the file of a session with this ID, that
    /// session is restored.
    pub fn create(&self, options: NewSession) -> Result<Session, SessionError> {
        self.check_new_id(options.id.as_deref())?;
        let draft = options
            .id
            .as_deref()
            .and_then(|id| self.find_draft_by_id(id));
        let has_chosen_id = options.id.is_some();
        let restored = match draft {
            Some(path) => session_from_journal(&path, &options.env)?,
            None => None,
        };
        let mut session = match restored {
            Some(session) => session,
            None => {
                create_directory(&self.path)?;
                Session::create_with(&self.cwd, options, |header| {
                    SessionLocation::Deferred(self.file_path(header))
                })?
            }
        };
        session.unique_id_in = has_chosen_id.then(|| self.clone());
        Ok(session)
    }

    /// Opens the most recently written session of the working directory, or creates one. A session of
    /// a killed process that has no file yet is restored from its journal.
    pub fn continue_recent(&self, env: &Env) -> Result<Session, SessionError> {
        for draft in self.find_recent_drafts() {
            if let Some(session) = session_from_journal(&draft, env)? {
                return Ok(session);
            }
        }
        match self.find_most_recent() {
            Some(path) => Session::open(
                &path,
                OpenSession {
                    directory: Some(self.path.clone()),
                    cwd: Some(self.cwd.clone()),
                    env: env.clone(),
                    ..OpenSession::default()
                },
            ),
            None => self.create(NewSession {
                env: env.clone(),
                ..NewSession::default()
            }),
        }
    }

    /// Copies a session file, including all branches, into this store.
    pub fn fork_file(&self, source: &Path, options: NewSession) -> Result<Session, SessionError> {
        let id_lock = options.id.as_deref().map(|id| self.lock_new_id(id));
        let id_lock = id_lock.transpose()?;
        let source = resolve(source);
        let entries = entry_lines(&source)?;
        let mut header = SessionHeader::new(
            options.id.unwrap_or_else(new_session_id),
            timestamp::to_iso(options.env.now_ms()),
            self.cwd.to_string_lossy(),
        );
        header.parent_session = Some(source.to_string_lossy().into_owned());
        let path = self.file_path(&header);
        let mut content = encode_record(&header)?;
        content.extend(entries);
        // The log must release its lock before the session locks the file.
        drop(write_new_file(&DiskStorage, &path, &content)?);
        drop(id_lock);
        Session::open(
            &path,
            OpenSession {
                env: options.env,
                ..OpenSession::default()
            },
        )
    }

    /// Copies a session file into this store, unless it is already there, and opens it.
    pub fn import(&self, source: &Path, options: OpenSession) -> Result<Session, SessionError> {
        let source = resolve(source);
        // Fail before copying a file that is not a session.
        Session::open(
            &source,
            OpenSession {
                access: AccessMode::Read,
                ..OpenSession::default()
            },
        )?;
        let options = OpenSession {
            directory: Some(self.path.clone()),
            ..options
        };
        if source.parent() == Some(&self.path) {
            return Session::open(&source, options);
        }
        create_directory(&self.path)?;
        let target = copy_into(&source, &self.path)?;
        Session::open(&target, options)
    }
}

/// Reads all entries of a file as lines in the current format.
fn entry_lines(path: &Path) -> Result<Vec<u8>, SessionError> {
    let source = Session::open(
        path,
        OpenSession {
            access: AccessMode::Read,
            ..OpenSession::default()
        },
    )?;
    let mut lines = Vec::new();
    for slot in (0..).take(source.entries().len()) {
        lines.extend_from_slice(source.entries().line_at(slot)?.as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Copies a file into a directory under its own name, or with a numeric suffix if that is taken.
fn copy_into(source: &Path, directory: &Path) -> Result<PathBuf, SessionError> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let extension = source
        .extension()
        .map(|extension| format!(".{}", extension.to_string_lossy()))
        .unwrap_or_default();
    let mut target = directory.join(format!("{stem}{extension}"));
    let mut suffix = 1_u32;
    loop {
        let unwritable = |source| SessionError::Unwritable {
            path: target.clone(),
            source,
        };
        match private::create_file(&target) {
            Ok(mut file) => {
                let copied =
                    fs::File::open(source).and_then(|mut source| io::copy(&mut source, &mut file));
                if let Err(error) = copied {
                    if let Err(error) = fs::remove_file(&target) {
                        tracing::warn!(path = %target.display(), %error, "cannot remove incomplete copy");
                    }
                    return Err(unwritable(error));
                }
                return Ok(target);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                target = directory.join(format!("{stem}-{suffix}{extension}"));
                suffix += 1;
            }
            Err(error) => return Err(unwritable(error)),
        }
    }
}
