//! [`Session`]: creation, opening and reading. A session is a log of records plus an index; entries
//! are read from the log on demand. A session without a file keeps its log in memory. Appending is
//! in [`append`], opening in [`open`], tree navigation in [`crate::tree`], copies in
//! [`crate::fork`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;
use pi_protocol::{Entry, EntryId, EntryKind, SessionHeader, timestamp};

use crate::cache::EntryCache;
use crate::directory;
use crate::error::SessionError;
use crate::index::{EntrySlot, Index, IndexRecord};
use crate::load::load;
use crate::log::{AppendLog, read_range};
use crate::reader::read_text;
use crate::session_id::{check_session_id, new_session_id};
use crate::storage::{AccessMode, DiskStorage, LogStorage, MemoryFile};

pub(crate) mod append;
pub(crate) mod open;

/// A conversation with all its branches. New entries are appended after the leaf and become the new
/// leaf.
#[derive(Debug)]
pub struct Session {
    pub(crate) storage: Arc<dyn LogStorage>,
    pub(crate) env: Env,
    pub(crate) location: SessionLocation,
    /// Where forks of this session are created.
    pub(crate) directory: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) header: SessionHeader,
    pub(crate) log: AppendLog,
    pub(crate) index: Index,
    pub(crate) leaf: Option<EntrySlot>,
    pub(crate) cache: EntryCache,
    pub(crate) open_report: OpenReport,
    /// Offset up to which the index has read the file.
    pub(crate) scanned_to: u64,
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
}

/// What opening a session file found and repaired. Show all of it to the user.
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
    /// Another process holds the lock: the session can be read, but appends fail.
    pub locked_elsewhere: bool,
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
    pub env: Env,
}

impl Session {
    /// Creates a session that will be saved at the given path.
    pub fn create_at(path: &Path, cwd: &Path, options: NewSession) -> Result<Self, SessionError> {
        let path = directory::resolve(path);
        if path.exists() {
            return Err(SessionError::AlreadyExists { path });
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
        let path = location.path().map(Path::to_owned).unwrap_or_default();
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
            location,
            directory,
            cwd,
            header,
            scanned_to: log.length(),
            log,
            leaf: index.last(),
            index,
            cache: EntryCache::default(),
            open_report: OpenReport::default(),
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
        self.index.name()
    }

    /// Returns the number of entries on all branches.
    pub fn len(&self) -> usize {
        self.index.records().len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.records().is_empty()
    }

    pub fn contains(&self, id: &str) -> bool {
        self.index.find(id).is_some()
    }

    /// Returns the kind of an entry without reading its body.
    pub fn kind(&self, id: &str) -> Option<EntryKind> {
        let slot = self.index.find(id)?;
        Some(self.index.record(slot)?.kind)
    }

    /// Reads an entry, or returns the shared copy if one is still in use.
    pub fn entry(&self, id: &str) -> Result<Arc<Entry>, SessionError> {
        self.entry_at(self.slot(id)?)
    }

    /// Returns the JSON of an entry exactly as stored in the file.
    pub fn entry_json(&self, id: &str) -> Result<String, SessionError> {
        self.line_at(self.slot(id)?)
    }

    /// Reads all entries in file order, one at a time.
    pub fn entries(&self) -> impl Iterator<Item = Result<Arc<Entry>, SessionError>> + '_ {
        (0..).take(self.len()).map(|slot| self.entry_at(slot))
    }

    /// Fails if the working directory of the session does not exist.
    pub fn check_cwd(&self) -> Result<(), SessionError> {
        if self.header.cwd.is_empty() || self.cwd.exists() {
            return Ok(());
        }
        Err(SessionError::MissingCwd {
            cwd: self.cwd.clone(),
            path: self.path().map(Path::to_owned).unwrap_or_default(),
        })
    }

    /// Flushes the file to disk. Appending alone leaves that to the operating system.
    pub fn sync(&self) -> Result<(), SessionError> {
        self.log.sync().map_err(|source| SessionError::Unwritable {
            path: self.path().map(Path::to_owned).unwrap_or_default(),
            source,
        })
    }

    pub(crate) fn slot(&self, id: &str) -> Result<EntrySlot, SessionError> {
        let unknown = || SessionError::UnknownEntry {
            id: EntryId::from(id),
        };
        self.index.find(id).ok_or_else(unknown)
    }

    pub(crate) fn record(&self, slot: EntrySlot) -> Result<&IndexRecord, SessionError> {
        let unknown = || SessionError::UnknownEntry {
            id: EntryId::from(slot.to_string()),
        };
        self.index.record(slot).ok_or_else(unknown)
    }

    pub(crate) fn entry_at(&self, slot: EntrySlot) -> Result<Arc<Entry>, SessionError> {
        if let Some(entry) = self.cache.get(slot) {
            return Ok(entry);
        }
        let record = self.record(slot)?;
        let text = self.line_at(slot)?;
        let entry = Entry::read(&text, record.kind)
            .map_err(|error| unreadable_entry(record, io::Error::other(error)))?;
        if entry.id != record.id {
            let changed = io::Error::other("another process modified the file in place");
            return Err(unreadable_entry(record, changed));
        }
        let entry = Arc::new(entry);
        self.cache.put(slot, &entry);
        Ok(entry)
    }

    /// Visits the lines of consecutive entries starting at a slot with a single read: as many as
    /// fit in `max_bytes`, but at least one.
    pub(crate) fn each_line_from(
        &self,
        first: EntrySlot,
        max_bytes: u64,
        mut visit: impl FnMut(EntrySlot, &[u8]) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let records = self.index.records().get(first as usize..);
        let records = records.unwrap_or_default();
        let Some(start) = records.first() else {
            return Ok(());
        };
        let mut end = start.offset;
        let batch = records.iter().take_while(|record| {
            let line_end = record.offset + u64::from(record.length);
            let fits = end == start.offset || line_end - start.offset <= max_bytes;
            let follows = record.offset >= end;
            if fits && follows {
                end = line_end;
            }
            fits && follows
        });
        let batch: Vec<_> = batch.collect();
        let bytes = read_range(self.log.file(), start.offset, end)
            .map_err(|source| unreadable_entry(start, source))?;
        for (slot, record) in (first..).zip(batch) {
            let begin = usize::try_from(record.offset - start.offset).unwrap_or(usize::MAX);
            let line = bytes.get(begin..).unwrap_or_default();
            let line = line.get(..record.length as usize).unwrap_or_default();
            visit(slot, line)?;
        }
        Ok(())
    }

    /// Reads the line of an entry exactly as stored.
    pub(crate) fn line_at(&self, slot: EntrySlot) -> Result<String, SessionError> {
        let record = self.record(slot)?;
        read_text(self.log.file(), record.offset, record.length)
            .map_err(|source| unreadable_entry(record, source))
    }
}

fn unreadable_entry(record: &IndexRecord, source: io::Error) -> SessionError {
    SessionError::UnreadableEntry {
        id: record.id.clone(),
        source,
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
