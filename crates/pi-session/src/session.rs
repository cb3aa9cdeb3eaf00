//! [`Session`]: creation and identity. A session without a file keeps its log in memory. Its entries
//! are in [`entries`], the path to its leaf in [`branch`]; appending is in [`append`], opening in
//! [`open`] and [`packed_index`], what is not stored yet in [`pending`], moving the leaf in
//! [`navigation`], copying in [`fork`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;
use pi_protocol::{Entry, EntryId, SessionHeader, timestamp};

use crate::directory;
use crate::error::SessionError;
use crate::index::{EntrySlot, Index};
use crate::load::load;
use crate::log::{AppendError, AppendLog};
use crate::session_id::{check_session_id, new_session_id};
use crate::session_store::SessionStore;
use crate::storage::{AccessMode, DiskStorage, LogStorage, MemoryFile};

pub(crate) mod append;
pub(crate) mod branch;
pub(crate) mod entries;
pub(crate) mod fork;
pub(crate) mod navigation;
pub(crate) mod open;
pub(crate) mod packed_index;
mod pending;
mod validation;

use branch::SessionBranch;
use entries::SessionEntries;
use packed_index::PackedIndex;
pub use pending::Pending;
use pending::PendingState;
pub(crate) use pending::session_from_journal;

/// A conversation with all its branches. New entries are appended after the leaf and become the new
/// leaf.
#[derive(Debug)]
pub struct Session {
    storage: Arc<dyn LogStorage>,
    env: Env,
    location: SessionLocation,
    /// Where forks of this session are created.
    directory: PathBuf,
    cwd: PathBuf,
    header: SessionHeader,
    entries: SessionEntries,
    leaf: Option<EntrySlot>,
    open_report: OpenReport,
    pending: PendingState,
    /// The store in which no other session may have the same ID when the file is created.
    pub(crate) unique_id_in: Option<SessionStore>,
}

/// Where a session is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionLocation {
    Memory,
    /// In memory until the first message for a model is appended; then in this file.
    Deferred(PathBuf),
    File(PathBuf),
}

impl SessionLocation {
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::Deferred(path) | Self::File(path) => Some(path),
        }
    }

    /// Returns the path for messages; empty for a session in memory.
    fn path_or_empty(&self) -> PathBuf {
        self.path().map(Path::to_owned).unwrap_or_default()
    }

    fn append_failed(&self, source: AppendError) -> SessionError {
        let path = self.path_or_empty();
        SessionError::AppendFailed { path, source }
    }

    fn unreadable(&self, source: io::Error) -> SessionError {
        let path = self.path_or_empty();
        SessionError::Unreadable { path, source }
    }
}

/// How a session file was opened, and what was found and repaired. Show the findings to the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenReport {
    /// Lines that could not be read as entries. They stay in the file.
    pub skipped_lines: usize,
    /// The last record was only partly written. It is one of the skipped lines.
    pub torn_tail: bool,
    /// The last entry had no line feed.
    pub missing_line_feed: bool,
    /// The format version before migration.
    pub migrated_from: Option<u64>,
    /// The file was empty and received a header.
    pub was_empty: bool,
    /// The session was opened for reading: appends fail.
    pub read_only: bool,
    /// Another process holds the lock: the session can be read, but appends fail.
    pub locked_elsewhere: bool,
    /// Results of shell commands that a killed process had not stored yet; they are now.
    pub restored_commands: usize,
    /// Messages that a killed process had queued; see [`Pending::take_restored`].
    pub restored_messages: usize,
    /// The session has no file yet and was restored from the journal of a killed process.
    pub restored_draft: bool,
}

/// Options for creating a session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Generated if absent.
    pub id: Option<String>,
    /// The session file this one was forked from.
    pub parent_session: Option<PathBuf>,
    pub env: Env,
}

/// Options for opening a session.
#[derive(Debug, Clone, Default)]
pub struct OpenSession {
    pub access: AccessMode,
    /// Where forks are created; defaults to the directory of the file.
    pub directory: Option<PathBuf>,
    /// Overrides the working directory in the header.
    pub cwd: Option<PathBuf>,
    /// The index of the process that writes the file, which saves scanning it. For [`AccessMode::Read`].
    pub index: Option<PackedIndex>,
    pub env: Env,
}

impl Session {
    /// Creates a session that will be saved at the given path.
    pub fn create_at(path: &Path, cwd: &Path, options: NewSession) -> Result<Self, SessionError> {
        let path = directory::resolve(path);
        if path.exists() {
            return Err(SessionError::AlreadyExists { path });
        }
        if let Some(session) = session_from_journal(&path, &options.env)? {
            return Ok(session);
        }
        if let Some(directory) = path.parent() {
            create_directory(directory)?;
        }
        Self::create_with(cwd, options, |_| SessionLocation::Deferred(path))
    }

    /// Creates a session without a file.
    pub fn in_memory(cwd: &Path, options: NewSession) -> Result<Self, SessionError> {
        Self::create_with(cwd, options, |_| SessionLocation::Memory)
    }

    /// Creates a session without a file from existing entries; the last one becomes the leaf.
    pub fn in_memory_from(
        cwd: &Path,
        options: NewSession,
        entries: &[Entry],
    ) -> Result<Self, SessionError> {
        let mut session = Self::in_memory(cwd, options)?;
        for entry in entries {
            session.store(entry)?;
        }
        Ok(session)
    }

    /// Opens a session file and reads its index; entries are read on demand.
    ///
    /// With [`AccessMode::Write`], an empty file receives a header, a torn tail is repaired and an
    /// old format is migrated; [`Session::open_report`] describes what was done.
    pub fn open(path: &Path, options: OpenSession) -> Result<Self, SessionError> {
        Self::open_in(Arc::new(DiskStorage), path, options)
    }

    pub(crate) fn create_with(
        cwd: &Path,
        options: NewSession,
        location: impl FnOnce(&SessionHeader) -> SessionLocation,
    ) -> Result<Self, SessionError> {
        if let Some(id) = &options.id {
            check_session_id(id)?;
        }
        let cwd = directory::resolve(cwd);
        let mut header = SessionHeader::new(
            options.id.unwrap_or_else(new_session_id),
            timestamp::to_iso(options.env.now_ms()),
            cwd.to_string_lossy(),
        );
        header.parent_session = options
            .parent_session
            .map(|path| path.to_string_lossy().into_owned());
        let location = location(&header);
        let content = encode_record(&header)?;
        Self::from_content(
            Arc::new(DiskStorage),
            options.env,
            location,
            cwd,
            header,
            content,
        )
    }

    /// Builds a session over in-memory content that starts with the given header.
    pub(crate) fn from_content(
        storage: Arc<dyn LogStorage>,
        env: Env,
        location: SessionLocation,
        cwd: PathBuf,
        header: SessionHeader,
        content: Vec<u8>,
    ) -> Result<Self, SessionError> {
        let directory = location
            .path()
            .and_then(Path::parent)
            .map(Path::to_owned)
            .unwrap_or_default();
        let file = Box::new(MemoryFile::new(content));
        let log = AppendLog::new(file, None, AccessMode::Write)
            .map_err(|error| location.unreadable(error))?;
        let mut index = Index::default();
        load(log.file(), 0, log.length(), None, &mut index)
            .map_err(|error| location.unreadable(error))?;
        Ok(Self {
            storage,
            env,
            location,
            directory,
            cwd,
            header,
            leaf: index.last(),
            entries: SessionEntries::new(log, index),
            open_report: OpenReport::default(),
            pending: PendingState::default(),
            unique_id_in: None,
        })
    }

    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the working directory of the session.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the directory where forks of this session are created.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the file, which may not exist yet; `None` for a session in memory.
    pub fn path(&self) -> Option<&Path> {
        self.location.path()
    }

    /// Returns whether the file exists.
    pub fn is_saved(&self) -> bool {
        matches!(self.location, SessionLocation::File(_))
    }

    pub fn open_report(&self) -> &OpenReport {
        &self.open_report
    }

    /// Returns the session name: the last one set, on any branch.
    pub fn name(&self) -> Option<&str> {
        self.entries.index.name()
    }

    /// Returns the entries of all branches.
    pub fn entries(&self) -> &SessionEntries {
        &self.entries
    }

    /// Returns the ID of the leaf; `None` before the first entry.
    pub fn leaf_id(&self) -> Option<&EntryId> {
        self.current_branch().leaf_id()
    }

    /// Returns the path from the root to the leaf.
    pub fn current_branch(&self) -> SessionBranch<'_> {
        SessionBranch::new(&self.entries, self.leaf)
    }

    /// Fails if the working directory of the session does not exist.
    pub fn check_cwd(&self) -> Result<(), SessionError> {
        if self.header.cwd.is_empty() || self.cwd.exists() {
            return Ok(());
        }
        Err(SessionError::MissingCwd {
            cwd: self.cwd.clone(),
            path: self.location.path_or_empty(),
        })
    }

    /// Flushes the file to disk. Appending alone leaves that to the operating system.
    pub fn sync(&self) -> Result<(), SessionError> {
        let synced = self.entries.log.sync();
        synced.map_err(|source| SessionError::Unwritable {
            path: self.location.path_or_empty(),
            source,
        })
    }
}

/// Encodes a header or an entry as a log record: its JSON and a line feed.
pub(crate) fn encode_record<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, SessionError> {
    let mut record = pi_protocol::json::to_vec(value).map_err(SessionError::Serialize)?;
    record.push(b'\n');
    Ok(record)
}

pub(crate) fn create_directory(path: &Path) -> Result<(), SessionError> {
    pi_fs::private::create_directory(path).map_err(|source| SessionError::Unwritable {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
