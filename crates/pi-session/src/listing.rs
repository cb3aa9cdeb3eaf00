//! Finding and listing sessions. Discovery is best effort: unreadable files are skipped, and one
//! bad file never hides the others. All functions block on disk access; async callers run them on a
//! blocking thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_fs::file_lock::LockState;
use pi_protocol::SessionHeader;

use crate::directory::EXTENSION;
use crate::load::parse;
use crate::pending;
use crate::reader::{LineFlow, each_line};
use crate::scan::{ScannedLine, Scanner};
use crate::session_store::SessionStore;
use crate::storage::{AccessMode, DiskStorage, LogStorage};

mod cache;
mod info;
mod progress;
mod texts;

pub use cache::TitleCache;
pub use info::{MessageText, read_info};
pub use progress::{IsCanceled, ListingCanceled, list_all, list_all_titles};
pub use texts::{EntryText, TextFlow, TextRole, each_text, read_text_at};

/// How far into a file the header is searched. A session with a longer header can still be opened
/// by path.
const HEADER_SCAN_LIMIT: u64 = 1024 * 1024;

/// Where to search for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope<'path> {
    /// All session directories below this root.
    AllProjects(&'path Path),
    /// This directory only, for any working directory.
    Directory(&'path Path),
}

impl SearchScope<'_> {
    fn files(self) -> Vec<PathBuf> {
        match self {
            Self::AllProjects(root) => all_session_files(root),
            Self::Directory(directory) => session_files(directory),
        }
    }

    /// Finds the session with exactly this ID, in any working directory.
    pub fn find_by_id(self, id: &str) -> Option<PathBuf> {
        let has_id = |path: &PathBuf| read_header(path).is_some_and(|header| header.id == id);
        let (named, others): (Vec<_>, Vec<_>) = self.files().into_iter().partition(|path| {
            let name = path.file_stem().and_then(|name| name.to_str());
            name.is_some_and(|name| name.ends_with(id))
        });
        named.into_iter().chain(others).find(has_id)
    }
}

/// A session found by ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundSession {
    /// It belongs to the current working directory.
    Local(PathBuf),
    /// It belongs to another working directory.
    OtherProject { path: PathBuf, cwd: String },
}

/// Returns all session files, readable or not.
pub fn files(scope: SearchScope<'_>) -> Vec<PathBuf> {
    scope.files()
}

/// Reads the header of a session file, if it is near the start of the file.
pub fn read_header(path: &Path) -> Option<SessionHeader> {
    let file = DiskStorage.open(path, AccessMode::Read).ok()?;
    let length = file.length().ok()?;
    let mut scanner = Scanner::default();
    let mut header = None;
    each_line(&*file, 0, length.min(HEADER_SCAN_LIMIT), |line| {
        if !line.terminated && length > HEADER_SCAN_LIMIT {
            return LineFlow::Stop;
        }
        match scanner.scan(line.bytes) {
            ScannedLine::Blank | ScannedLine::Malformed => LineFlow::Continue,
            ScannedLine::Scalar | ScannedLine::Object(_) => {
                header = parse(line.bytes);
                LineFlow::Stop
            }
        }
    })
    .ok()?;
    header
}

/// Returns whether another process has the session with this ID, or whose ID starts with it, open for writing.
pub fn is_open_elsewhere(scope: SearchScope<'_>, prefix: &str) -> bool {
    let mut found = headers(scope.files()).filter(|(_, header)| header.id.starts_with(prefix));
    found.any(|(path, _)| is_locked(&path))
}

/// Returns whether a session of this or another process has the file open for writing.
pub fn is_locked(path: &Path) -> bool {
    let file = DiskStorage.open(path, AccessMode::Read);
    file.is_ok_and(|file| file.try_lock() == LockState::HeldElsewhere)
}

impl SessionStore {
    /// Finds the session with exactly this ID.
    pub fn find_by_id(&self, id: &str) -> Option<PathBuf> {
        session_files(self.path()).into_iter().find(|path| {
            read_header(path).is_some_and(|header| header.id == id && self.accepts_cwd(&header.cwd))
        })
    }

    /// Finds a session by ID or ID prefix, first in this store, then in the whole scope. If several
    /// match, returns the most recently active one.
    pub fn find(&self, scope: SearchScope<'_>, prefix: &str) -> Option<FoundSession> {
        if let Some(path) = self.find_by_id(prefix) {
            return Some(FoundSession::Local(path));
        }
        let local = headers(session_files(self.path()))
            .filter(|(_, header)| self.accepts_cwd(&header.cwd) && header.id.starts_with(prefix));
        if let Some((path, _)) = most_recently_active(local.collect()) {
            return Some(FoundSession::Local(path));
        }
        let anywhere: Vec<_> = headers(scope.files())
            .filter(|(_, header)| header.id.starts_with(prefix))
            .collect();
        let exact = anywhere.iter().find(|(_, header)| header.id == prefix);
        let (path, header) = match exact {
            Some(found) => found.clone(),
            None => most_recently_active(anywhere)?,
        };
        Some(FoundSession::OtherProject {
            path,
            cwd: header.cwd,
        })
    }

    /// Returns the most recently written session file.
    pub fn find_most_recent(&self) -> Option<PathBuf> {
        let files = session_files(self.path());
        newest_first(files).find(|path| self.accepts_header_of(path))
    }

    /// Returns the session files that do not exist yet, of processes that are running or were
    /// killed, if their journals were written after the last session file; the last one first.
    pub(crate) fn find_recent_drafts(&self) -> Vec<PathBuf> {
        let mut files = session_files(self.path());
        files.extend(journals_without_session(self.path()));
        newest_first(files)
            .take_while(|path| is_journal(path) || !self.accepts_header_of(path))
            .filter(|path| is_journal(path) && self.accepts_header_of(path))
            .map(|journal| journal.with_extension(""))
            .collect()
    }

    /// Returns the session file of a draft with this ID.
    pub(crate) fn find_draft_by_id(&self, id: &str) -> Option<PathBuf> {
        let journals = journals_without_session(self.path());
        let found = journals.into_iter().find(|path| {
            read_header(path).is_some_and(|header| header.id == id && self.accepts_cwd(&header.cwd))
        })?;
        Some(found.with_extension(""))
    }

    fn accepts_header_of(&self, path: &Path) -> bool {
        read_header(path).is_some_and(|header| self.accepts_cwd(&header.cwd))
    }
}

fn newest_first(files: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
    let mut files = with_modified_time(files);
    pi_protocol::sort_by(&mut files, |(_, one), (_, other)| other.cmp(one));
    files.into_iter().map(|(path, _)| path)
}

fn is_journal(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == pending::EXTENSION)
}

/// Returns the journals of sessions whose file does not exist yet.
fn journals_without_session(directory: &Path) -> Vec<PathBuf> {
    let mut journals = files_with_extension(directory, pending::EXTENSION);
    journals.retain(|path| !path.with_extension("").exists());
    journals
}

fn headers(files: Vec<PathBuf>) -> impl Iterator<Item = (PathBuf, SessionHeader)> {
    files.into_iter().filter_map(|path| {
        let header = read_header(&path)?;
        Some((path, header))
    })
}

fn most_recently_active(
    mut found: Vec<(PathBuf, SessionHeader)>,
) -> Option<(PathBuf, SessionHeader)> {
    if found.len() < 2 {
        return found.pop();
    }
    found
        .into_iter()
        .max_by_key(|(path, _)| read_info(path, MessageText::Skip).map(|info| info.modified_ms))
}

fn session_files(directory: &Path) -> Vec<PathBuf> {
    files_with_extension(directory, EXTENSION)
}

fn files_with_extension(directory: &Path, expected: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == expected)
        })
        .collect()
}

fn all_session_files(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    entries
        .flatten()
        .flat_map(|entry| session_files(&entry.path()))
        .collect()
}

fn with_modified_time(files: Vec<PathBuf>) -> Vec<(PathBuf, Option<SystemTime>)> {
    files
        .into_iter()
        .map(|path| {
            let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
            (path, modified.ok())
        })
        .collect()
}
