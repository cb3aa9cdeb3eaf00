//! The append-only log. A record is written with one write and counts only if it is complete; a
//! failed write is rolled back so that memory and disk stay equal. Before every write the file must
//! be in the state this log left it in: if it grew, shrank, was replaced or deleted, another
//! process is writing and the append is rejected. The log does not interpret records.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use memchr::memmem;
use pi_fs::file_lock::LockState;
use thiserror::Error;

use crate::checksums::Checksums;
use crate::storage::{AccessMode, FileStamp, LogFile, PathState};

/// How often locking is attempted when a session is opened.
const LOCK_ATTEMPTS: usize = 20;

const LOCK_RETRY_DELAY: Duration = Duration::from_millis(10);

/// Why a record was not appended. The file is unchanged in every case.
#[derive(Debug, Error)]
pub enum AppendError {
    #[error("the session was opened read-only")]
    ReadOnly,
    #[error("another pi process has this session open; close it there, or fork the session")]
    InUse,
    /// The file is longer than this process left it.
    #[error("another process appended {bytes} bytes; reload the session first")]
    ConcurrentWrite { bytes: u64 },
    /// The file is shorter than this process left it, or the path refers to another file.
    #[error("another process replaced or truncated the file; reopen the session")]
    Replaced,
    #[error("the file was deleted while open; fork or export the session to save it")]
    Deleted,
    #[error("the write failed and nothing was stored; check disk space and health, then try again")]
    Write(#[source] io::Error),
    /// A partial record was written and could not be removed.
    #[error("a partial record could not be removed; further writes are disabled")]
    Torn(#[source] io::Error),
}

/// A file that only grows by complete records.
#[derive(Debug)]
pub(crate) struct AppendLog {
    file: Box<dyn LogFile>,
    path: Option<PathBuf>,
    access: AccessMode,
    locked: bool,
    /// The file length according to this log.
    length: u64,
    /// The last line has no line feed.
    unterminated: bool,
    /// A record that a failed write may have left partially in the file.
    torn: Option<Box<[u8]>>,
    checksums: Checksums,
}

impl Drop for AppendLog {
    /// Closing the file would not unlock it while a child between `fork` and `exec` has a copy of the descriptor.
    fn drop(&mut self) {
        self.release();
    }
}

impl AppendLog {
    /// Takes ownership of a file and locks it if it will be written.
    pub(crate) fn new(
        file: Box<dyn LogFile>,
        path: Option<PathBuf>,
        access: AccessMode,
    ) -> io::Result<Self> {
        let length = file.length()?;
        let mut log = Self {
            file,
            path,
            access,
            locked: false,
            length,
            unterminated: false,
            torn: None,
            checksums: Checksums::Off,
        };
        if access == AccessMode::Write {
            log.lock_with_retry();
            // Whatever the previous lock holder wrote before releasing the lock is part of this
            // log.
            log.length = log.file.length()?;
        }
        Ok(log)
    }

    /// Keeps checksums of what is appended.
    pub(crate) fn with_checksums(mut self) -> Self {
        self.checksums = Checksums::Deferred;
        self
    }

    /// Returns whether another process holds the lock.
    pub(crate) fn is_locked_elsewhere(&self) -> bool {
        self.access == AccessMode::Write && !self.locked
    }

    pub(crate) fn access(&self) -> AccessMode {
        self.access
    }

    pub(crate) fn file(&self) -> &dyn LogFile {
        &*self.file
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Appends a record, including its line feed, and returns its offset.
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<u64, AppendError> {
        let before = self.check_writable()?;
        if self.unterminated {
            let mut terminated = Vec::with_capacity(record.len() + 1);
            terminated.push(b'\n');
            terminated.extend_from_slice(record);
            let start = self.write(&terminated, before)?;
            self.unterminated = false;
            return Ok(start + 1);
        }
        self.write(record, before)
    }

    /// Adds the missing line feed to the last line. If that fails, the next append adds it.
    pub(crate) fn terminate(&mut self) -> Result<(), AppendError> {
        self.unterminated = true;
        let before = self.check_writable()?;
        self.write(b"\n", before)?;
        self.unterminated = false;
        Ok(())
    }

    /// Updates the known length to what the file contains now, including what other processes
    /// appended.
    pub(crate) fn refresh_length(&mut self) -> io::Result<u64> {
        self.length = self.file.length()?;
        Ok(self.length)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Releases the lock; the next append locks the file again.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.locked) {
            self.file.unlock();
        }
    }

    fn try_lock(&mut self) -> bool {
        self.locked = self.locked || self.file.try_lock() != LockState::HeldElsewhere;
        self.locked
    }

    /// Locks the file, retrying for a short time. A child that a killed pi process forked keeps the
    /// lock until it calls `exec`.
    fn lock_with_retry(&mut self) {
        for _ in 0..LOCK_ATTEMPTS {
            if self.try_lock() {
                return;
            }
            std::thread::sleep(LOCK_RETRY_DELAY);
        }
    }

    /// Checks that this log may write and that the file is in the expected state, and returns that state.
    fn check_writable(&mut self) -> Result<FileStamp, AppendError> {
        if self.access == AccessMode::Read {
            return Err(AppendError::ReadOnly);
        }
        match self.file.path_state().map_err(AppendError::Write)? {
            PathState::Unchanged => {}
            PathState::Replaced => return Err(AppendError::Replaced),
            PathState::Removed => return Err(AppendError::Deleted),
        }
        if !self.try_lock() {
            return Err(AppendError::InUse);
        }
        if let Some(record) = self.torn.take() {
            self.roll_back(&record)?;
        }
        let found = self.file.stamp().map_err(AppendError::Write)?;
        if found.length > self.length {
            let bytes = found.length - self.length;
            return Err(AppendError::ConcurrentWrite { bytes });
        }
        if found.length < self.length {
            return Err(AppendError::Replaced);
        }
        Ok(found)
    }

    fn write(&mut self, record: &[u8], before: FileStamp) -> Result<u64, AppendError> {
        let error = match self.file.append(record) {
            Ok(taken) if taken == record.len() => return self.locate(record, before),
            Ok(_) => io::ErrorKind::StorageFull.into(),
            Err(error) => error,
        };
        self.roll_back(record)?;
        Err(AppendError::Write(error))
    }

    /// Returns the offset of the record just written. It directly follows the previous record
    /// unless another process wrote at the same time; then the record stays and the next append is
    /// rejected.
    fn locate(&mut self, record: &[u8], before: FileStamp) -> Result<u64, AppendError> {
        let start = self.length;
        let end = start + record.len() as u64;
        // The record is written even if the length cannot be determined.
        let found = self.file.stamp().unwrap_or(FileStamp {
            length: end,
            modified_ns: 0,
        });
        if found.length == end {
            self.length = end;
            let file = &*self.file;
            self.checksums.record(file, before, record, found);
            return Ok(start);
        }
        let found = found.length;
        tracing::warn!(path = ?self.path, "another process wrote to the session at the same time");
        let tail = read_range(&*self.file, start, found).map_err(AppendError::Write)?;
        match memmem::rfind(&tail, record) {
            Some(position) => Ok(start + position as u64),
            None => Err(AppendError::Replaced),
        }
    }

    /// Truncates what a failed write left behind, and nothing else.
    fn roll_back(&mut self, record: &[u8]) -> Result<(), AppendError> {
        self.truncate_partial_write(record).map_err(|error| {
            self.torn = Some(record.into());
            AppendError::Torn(error)
        })
    }

    fn truncate_partial_write(&mut self, record: &[u8]) -> io::Result<()> {
        let found = self.file.length()?;
        if found <= self.length {
            return Ok(());
        }
        let remainder = read_range(&*self.file, self.length, found)?;
        if !record.starts_with(&remainder) {
            // The bytes were written by another process; the next append will be rejected.
            return Ok(());
        }
        self.file.truncate(self.length)
    }
}

/// Reads a range of a file; fails if the file ends before `end`.
pub(crate) fn read_range(file: &dyn LogFile, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let count = file.read_at(&mut bytes, start)?;
    if count < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
