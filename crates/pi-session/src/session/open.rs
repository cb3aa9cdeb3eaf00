//! Opening a session file: loading the index, repairing the tail, migrating old formats.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_protocol::{SessionHeader, timestamp};

use super::entries::SessionEntries;
use super::packed_index::load_packed;
use super::pending::PendingState;
use super::{OpenReport, OpenSession, Session, SessionLocation, encode_record};
use crate::cache::EntryCache;
use crate::directory;
use crate::error::SessionError;
use crate::index::Index;
use crate::load::{LoadResult, TailState, load};
use crate::log::AppendLog;
use crate::migrate;
use crate::session_id::new_session_id;
use crate::storage::{AccessMode, LogStorage};

impl Session {
    pub(crate) fn open_in(
        storage: Arc<dyn LogStorage>,
        path: &Path,
        options: OpenSession,
    ) -> Result<Self, SessionError> {
        let path = directory::resolve(path);
        let mut log = open_log(&*storage, &path, options.access)?;
        let mut open_report = OpenReport {
            read_only: options.access == AccessMode::Read,
            locked_elsewhere: log.is_locked_elsewhere(),
            ..OpenReport::default()
        };
        let (header, index, scanned_to) = if log.length() == 0 {
            open_report.was_empty = true;
            let header = write_first_header(&mut log, &path, &options)?;
            (header, Index::default(), log.length())
        } else {
            let read = match read_packed(&log, &path, &options)? {
                Some(read) => read,
                None => read_log(&log, &path)?,
            };
            let (mut loaded, mut index) = read;
            let version = loaded
                .header
                .as_ref()
                .map_or(0, SessionHeader::format_version);
            if version < SessionHeader::CURRENT_VERSION && loaded.header.is_some() {
                open_report.migrated_from = Some(version);
                log = migrate::migrate_log(&*storage, &log, &path)?;
                (loaded, index) = read_log(&log, &path)?;
            }
            open_report.skipped_lines = loaded.skipped;
            let scanned_to = repair_tail(&mut log, &loaded, &mut open_report);
            let header = loaded.header;
            let header = header.ok_or_else(|| SessionError::NotASession { path: path.clone() })?;
            (header, index, scanned_to)
        };
        let parent = path.parent().map(Path::to_owned).unwrap_or_default();
        let restores = options.access == AccessMode::Write && !open_report.locked_elsewhere;
        let mut session = Self {
            storage,
            env: options.env,
            directory: options.directory.unwrap_or(parent),
            cwd: directory::resolve(&options.cwd.unwrap_or_else(|| (&header.cwd).into())),
            location: SessionLocation::File(path.clone()),
            header,
            leaf: index.last(),
            entries: SessionEntries {
                log,
                index,
                cache: EntryCache::default(),
                scanned_to,
            },
            open_report,
            pending: PendingState::default(),
            unique_id_in: None,
        };
        if restores {
            session.pending().restore_from(&path);
        }
        Ok(session)
    }
}

pub(crate) fn open_log(
    storage: &dyn LogStorage,
    path: &Path,
    access: AccessMode,
) -> Result<AppendLog, SessionError> {
    storage
        .open(path, access)
        .and_then(|file| AppendLog::new(file, Some(path.to_owned()), access))
        .map(AppendLog::with_checksums)
        .map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => SessionError::Missing {
                path: path.to_owned(),
            },
            _ => unreadable(path, source),
        })
}

/// Loads the file with the index of the process that writes it, if there is one that fits.
fn read_packed(
    log: &AppendLog,
    path: &Path,
    options: &OpenSession,
) -> Result<Option<(LoadResult, Index)>, SessionError> {
    let packed = options.index.as_ref();
    let Some(packed) = packed.filter(|_| options.access == AccessMode::Read) else {
        return Ok(None);
    };
    let read = load_packed(log, packed).map_err(|source| unreadable(path, source))?;
    if read.is_none() {
        tracing::debug!(path = %path.display(), "the index of the other process does not fit");
    }
    Ok(read)
}

fn read_log(log: &AppendLog, path: &Path) -> Result<(LoadResult, Index), SessionError> {
    let mut index = Index::default();
    let loaded = load(log.file(), 0, log.length(), None, &mut index)
        .map_err(|source| unreadable(path, source))?;
    if loaded.header.is_none() {
        return Err(SessionError::NotASession {
            path: path.to_owned(),
        });
    }
    Ok((loaded, index))
}

fn unreadable(path: &Path, source: io::Error) -> SessionError {
    SessionError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

fn write_first_header(
    log: &mut AppendLog,
    path: &Path,
    options: &OpenSession,
) -> Result<SessionHeader, SessionError> {
    let cwd = options.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    let header = SessionHeader::new(
        new_session_id(),
        timestamp::to_iso(options.env.now_ms()),
        directory::resolve(&cwd).to_string_lossy(),
    );
    if log.access() == AccessMode::Write {
        let record = encode_record(&header)?;
        log.append(&record)
            .map_err(|source| SessionError::AppendFailed {
                path: path.to_owned(),
                source,
            })?;
    }
    Ok(header)
}

/// Terminates the last line if needed and returns the offset up to which the file has been read. A
/// torn record stays in the file as an unreadable line: truncating it could destroy what another
/// process is writing.
pub(super) fn repair_tail(
    log: &mut AppendLog,
    loaded: &LoadResult,
    open_report: &mut OpenReport,
) -> u64 {
    match loaded.tail {
        TailState::Clean => return loaded.scanned_to,
        TailState::Unterminated => open_report.missing_line_feed = true,
        TailState::Torn => open_report.torn_tail = true,
    }
    if log.access() == AccessMode::Read {
        return loaded.scanned_to;
    }
    match log.terminate() {
        Ok(()) => log.length(),
        Err(error) => {
            tracing::warn!(%error, "cannot terminate the last line; the next append will do it");
            loaded.scanned_to
        }
    }
}
