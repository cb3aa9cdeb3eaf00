//! One session: created, opened, read.
//!
//! A session is a log of records and an index over it; entries are read from the log when somebody
//! asks. A session without a file keeps its log in memory and is otherwise the same. Appending is in
//! [`append`], opening in [`open`], moving about the tree in [`crate::tree`], copies in [`crate::fork`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_ai::Env;

use crate::cache::EntryCache;
use crate::directory::{self, SessionDirectory};
use crate::entry::{Entry, EntryId};
use crate::error::SessionError;
use crate::header::SessionHeader;
use crate::index::{Index, Record, Slot};
use crate::kind::EntryKind;
use crate::listing;
use crate::load::load;
use crate::log::{AppendLog, read_range};
use crate::moment;
use crate::reader::read_text;
use crate::session_id::{check_session_id, new_session_id};
use crate::storage::{AccessMode, DiskStorage, LogStorage, MemoryFile};

pub(crate) mod append;
pub(crate) mod open;

/// A conversation with all its branches.
///
/// The leaf is where the conversation stands: what is appended follows it and becomes it.
#[derive(Debug)]
pub struct Session {
    pub(crate) storage: Arc<dyn LogStorage>,
    pub(crate) env: Env,
    pub(crate) home: Home,
    /// Where new sessions made from this one go.
    pub(crate) directory: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) header: SessionHeader,
    pub(crate) log: AppendLog,
    pub(crate) index: Index,
    pub(crate) leaf: Option<Slot>,
    pub(crate) cache: EntryCache,
    pub(crate) findings: OpenReport,
    /// How far the index has read the file.
    pub(crate) scanned_to: u64,
}

/// Where a session is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Home {
    Memory,
    /// In memory until the first message to a model; then in this file.
    Deferred(PathBuf),
    File(PathBuf),
}

impl Home {
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::Deferred(path) | Self::File(path) => Some(path),
        }
    }
}

/// What opening a file brought to light; the user should hear of all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenReport {
    /// How many lines could not be read as entries. They stay in the file.
    pub skipped_lines: usize,
    /// The last record was only half written. It is one of the skipped lines.
    pub torn_tail: bool,
    /// The last entry lacked its line feed.
    pub missing_line_feed: bool,
    /// The format version the file had, if it was brought up to date.
    pub migrated_from: Option<u64>,
    /// The file was empty and got a header.
    pub was_empty: bool,
    /// Another pi has the session open: it can be read here, and appending will be refused.
    pub locked_elsewhere: bool,
}

/// How to create a session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The id; drawn if absent.
    pub id: Option<String>,
    /// The session file it comes from.
    pub parent_session: Option<PathBuf>,
    pub env: Env,
}

/// How to open a session.
#[derive(Debug, Clone, Default)]
pub struct OpenSession {
    /// Whether it will be appended to.
    pub access: AccessMode,
    /// Where new sessions made from it go; beside it if absent.
    pub directory: Option<PathBuf>,
    /// The working directory, instead of the one in the header.
    pub cwd: Option<PathBuf>,
    pub env: Env,
}

impl Session {
    /// Creates a session; its file appears with the first message to a model, the directory at once.
    pub fn create(directory: &SessionDirectory, options: NewSession) -> Result<Self, SessionError> {
        if let Some(id) = &options.id {
            check_session_id(id)?;
            if let Some(path) = listing::find_by_id(directory, id) {
                let id = id.clone();
                return Err(SessionError::IdTaken { id, path });
            }
        }
        create_directory(directory.path())?;
        Self::begin(directory.cwd(), options, |header| {
            let name = directory::file_name(&header.timestamp, &header.id);
            Home::Deferred(directory.path().join(name))
        })
    }

    /// Creates a session whose file will be at a given path.
    pub fn create_at(path: &Path, cwd: &Path, options: NewSession) -> Result<Self, SessionError> {
        let path = directory::resolve(path);
        if path.exists() {
            return Err(SessionError::AlreadyExists { path });
        }
        if let Some(directory) = path.parent() {
            create_directory(directory)?;
        }
        Self::begin(cwd, options, |_| Home::Deferred(path))
    }

    /// Creates a session that has no file.
    pub fn in_memory(cwd: &Path, options: NewSession) -> Result<Self, SessionError> {
        Self::begin(cwd, options, |_| Home::Memory)
    }

    /// Creates a session without a file from entries kept elsewhere; the last one is the leaf.
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

    /// Opens a session file.
    ///
    /// Only the index is read. With [`AccessMode::Write`] an empty file gets a header, a damaged end is
    /// repaired and an old format brought up to date; [`Session::findings`] tells.
    pub fn open(path: &Path, options: OpenSession) -> Result<Self, SessionError> {
        Self::open_in(Arc::new(DiskStorage), path, options)
    }

    /// Opens the session of a working directory that was written to last, or creates one.
    pub fn continue_recent(directory: &SessionDirectory, env: &Env) -> Result<Self, SessionError> {
        match listing::find_most_recent(directory) {
            Some(path) => Self::open(
                &path,
                OpenSession {
                    directory: Some(directory.path().to_owned()),
                    cwd: Some(directory.cwd().to_owned()),
                    env: env.clone(),
                    access: AccessMode::Write,
                },
            ),
            None => Self::create(
                directory,
                NewSession {
                    env: env.clone(),
                    ..NewSession::default()
                },
            ),
        }
    }

    fn begin(
        cwd: &Path,
        options: NewSession,
        home: impl FnOnce(&SessionHeader) -> Home,
    ) -> Result<Self, SessionError> {
        if let Some(id) = &options.id {
            check_session_id(id)?;
        }
        let cwd = directory::resolve(cwd);
        let mut header = SessionHeader::new(
            options.id.unwrap_or_else(new_session_id),
            moment::to_iso(options.env.now_ms()),
            cwd.to_string_lossy(),
        );
        header.parent_session = options
            .parent_session
            .map(|path| path.to_string_lossy().into_owned());
        let home = home(&header);
        let content = spell(&header)?;
        Self::from_content(
            Arc::new(DiskStorage),
            options.env,
            home,
            cwd,
            header,
            content,
        )
    }

    /// Builds a session over content in memory, which begins with the header given.
    pub(crate) fn from_content(
        storage: Arc<dyn LogStorage>,
        env: Env,
        home: Home,
        cwd: PathBuf,
        header: SessionHeader,
        content: Vec<u8>,
    ) -> Result<Self, SessionError> {
        let directory = home
            .path()
            .and_then(Path::parent)
            .map(Path::to_owned)
            .unwrap_or_default();
        let path = home.path().map(Path::to_owned).unwrap_or_default();
        let unreadable = |source| SessionError::Unreadable {
            path: path.clone(),
            source,
        };
        let file = Box::new(MemoryFile::new(content));
        let log = AppendLog::new(file, None, AccessMode::Write).map_err(unreadable)?;
        let mut index = Index::default();
        load(log.file(), 0, log.length(), None, &mut index).map_err(unreadable)?;
        Ok(Self {
            storage,
            env,
            home,
            directory,
            cwd,
            header,
            scanned_to: log.length(),
            log,
            leaf: index.last(),
            index,
            cache: EntryCache::default(),
            findings: OpenReport::default(),
        })
    }

    /// Returns the header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the directory the session works in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns where new sessions made from this one go.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns where the file is or will be; none for a session in memory.
    pub fn path(&self) -> Option<&Path> {
        self.home.path()
    }

    /// Returns whether the file exists yet.
    pub fn is_saved(&self) -> bool {
        matches!(self.home, Home::File(_))
    }

    /// Returns what opening the file brought to light.
    pub fn open_report(&self) -> &OpenReport {
        &self.findings
    }

    /// Returns the session's name: the last one given on any branch.
    pub fn name(&self) -> Option<&str> {
        self.index.name()
    }

    /// Returns how many entries there are, on all branches.
    pub fn len(&self) -> usize {
        self.index.records().len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.index.records().is_empty()
    }

    /// Returns whether an entry is there.
    pub fn contains(&self, id: &str) -> bool {
        self.index.find(id).is_some()
    }

    /// Returns the kind of an entry without reading it.
    pub fn kind(&self, id: &str) -> Option<EntryKind> {
        let slot = self.index.find(id)?;
        Some(self.index.record(slot)?.kind)
    }

    /// Reads an entry, or shares it if somebody holds it already.
    pub fn entry(&self, id: &str) -> Result<Arc<Entry>, SessionError> {
        self.entry_at(self.slot(id)?)
    }

    /// Reads the JSON of an entry as it stands in the file.
    pub fn entry_json(&self, id: &str) -> Result<String, SessionError> {
        self.line_at(self.slot(id)?)
    }

    /// Reads all entries in the order of the file, one at a time.
    pub fn entries(&self) -> impl Iterator<Item = Result<Arc<Entry>, SessionError>> + '_ {
        (0..).take(self.len()).map(|slot| self.entry_at(slot))
    }

    /// Fails if the directory the session works in does not exist.
    pub fn check_cwd(&self) -> Result<(), SessionError> {
        if self.header.cwd.is_empty() || self.cwd.exists() {
            return Ok(());
        }
        Err(SessionError::MissingCwd {
            cwd: self.cwd.clone(),
            path: self.path().map(Path::to_owned).unwrap_or_default(),
        })
    }

    /// Waits until the disk has everything; appending alone leaves that to the system.
    pub fn sync(&self) -> Result<(), SessionError> {
        self.log.sync().map_err(|source| SessionError::Unwritable {
            path: self.path().map(Path::to_owned).unwrap_or_default(),
            source,
        })
    }

    pub(crate) fn slot(&self, id: &str) -> Result<Slot, SessionError> {
        let unknown = || SessionError::UnknownEntry {
            id: EntryId::from(id),
        };
        self.index.find(id).ok_or_else(unknown)
    }

    pub(crate) fn record(&self, slot: Slot) -> Result<&Record, SessionError> {
        let unknown = || SessionError::UnknownEntry {
            id: EntryId::from(slot.to_string()),
        };
        self.index.record(slot).ok_or_else(unknown)
    }

    pub(crate) fn entry_at(&self, slot: Slot) -> Result<Arc<Entry>, SessionError> {
        if let Some(entry) = self.cache.get(slot) {
            return Ok(entry);
        }
        let record = self.record(slot)?;
        let text = self.line_at(slot)?;
        let entry = Entry::read(&text, record.kind)
            .map_err(|error| unreadable_entry(record, io::Error::other(error)))?;
        if entry.id != record.id {
            let changed = io::Error::other("another program changed the file in place");
            return Err(unreadable_entry(record, changed));
        }
        let entry = Arc::new(entry);
        self.cache.put(slot, &entry);
        Ok(entry)
    }

    /// Reads the lines of entries from a slot on with one look at the file: as many as `most` bytes hold,
    /// and one at least.
    pub(crate) fn each_line_from(
        &self,
        first: Slot,
        most: u64,
        mut visit: impl FnMut(Slot, &[u8]) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let records = self.index.records().get(first as usize..);
        let records = records.unwrap_or_default();
        let Some(start) = records.first() else {
            return Ok(());
        };
        let mut end = start.offset;
        let together = records.iter().take_while(|record| {
            let line_end = record.offset + u64::from(record.length);
            let fits = end == start.offset || line_end - start.offset <= most;
            let follows = record.offset >= end;
            if fits && follows {
                end = line_end;
            }
            fits && follows
        });
        let together: Vec<_> = together.collect();
        let bytes = read_range(self.log.file(), start.offset, end)
            .map_err(|source| unreadable_entry(start, source))?;
        for (slot, record) in (first..).zip(together) {
            let begin = usize::try_from(record.offset - start.offset).unwrap_or(usize::MAX);
            let line = bytes.get(begin..).unwrap_or_default();
            let line = line.get(..record.length as usize).unwrap_or_default();
            visit(slot, line)?;
        }
        Ok(())
    }

    /// Reads the line of an entry as it stands in the file.
    pub(crate) fn line_at(&self, slot: Slot) -> Result<String, SessionError> {
        let record = self.record(slot)?;
        read_text(self.log.file(), record.offset, record.length)
            .map_err(|source| unreadable_entry(record, source))
    }
}

fn unreadable_entry(record: &Record, source: io::Error) -> SessionError {
    SessionError::UnreadableEntry {
        id: record.id.clone(),
        source,
    }
}

/// Spells a header or an entry as a record: its JSON and a line feed.
pub(crate) fn spell<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, SessionError> {
    let mut record = pi_ai::json::to_vec(value).map_err(SessionError::Serialize)?;
    record.push(b'\n');
    Ok(record)
}

pub(crate) fn create_directory(path: &Path) -> Result<(), SessionError> {
    crate::storage::disk::create_private_directory(path).map_err(|source| {
        SessionError::Unwritable {
            path: path.to_owned(),
            source,
        }
    })
}

#[cfg(test)]
mod tests;
