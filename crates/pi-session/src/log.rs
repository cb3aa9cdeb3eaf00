//! The append-only log and its promise.
//!
//! A record goes to the file in one write and counts only when all of it is there. A write that
//! fails half-way is taken back, so memory and disk stay equal. Before every write the file must be
//! as this log left it: if it has grown, shrunk, moved or gone, somebody else is at work, and nothing
//! is written until the caller has decided. What the records mean is of no concern here.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use memchr::memmem;
use thiserror::Error;

use crate::storage::{AccessMode, Claim, LogFile, Standing};

/// How often a file that is held is asked for when a session is opened.
const CLAIM_ATTEMPTS: usize = 20;

/// How long to wait before asking again.
const CLAIM_PAUSE: Duration = Duration::from_millis(10);

/// Why a record was not appended; in every case the file holds what it held before.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The session was opened to be read.
    #[error("the session was opened for reading only")]
    ReadOnly,
    /// Another pi holds the session.
    #[error(
        "another pi has this session open: close it there, or fork the session to go on from here"
    )]
    InUse,
    /// The file is longer than this process left it.
    #[error(
        "another program appended {bytes} bytes to it: reload the session to see them before going on"
    )]
    ConcurrentWrite {
        /// How much was appended.
        bytes: u64,
    },
    /// The file is shorter than this process left it, or another file has taken its place.
    #[error("another program replaced or cut it: reopen the session to go on with what is there")]
    Replaced,
    /// The file has been deleted.
    #[error("it was deleted while open: fork or export the session to keep what is in memory")]
    Deleted,
    /// The disk refused the record.
    #[error(
        "the disk did not take it, so nothing was stored: check its space and health, then try again"
    )]
    Write(#[source] io::Error),
    /// The disk took part of a record and then refused to give it back.
    #[error("the disk took half a record and does not let it be removed; nothing more is stored")]
    Torn(#[source] io::Error),
}

/// A file that only grows, by whole records.
#[derive(Debug)]
pub(crate) struct AppendLog {
    file: Box<dyn LogFile>,
    path: Option<PathBuf>,
    access: AccessMode,
    claimed: bool,
    /// How long the file is by this log's own account.
    length: u64,
    /// The last line lacks its line feed.
    unterminated: bool,
    /// The record of which a failed write may have left a part behind.
    torn: Option<Box<[u8]>>,
}

impl AppendLog {
    /// Takes over a file and claims it if it is to be written.
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
            claimed: false,
            length,
            unterminated: false,
            torn: None,
        };
        if access == AccessMode::Write {
            log.claim_patiently();
            // What the holder before us wrote until it let go belongs to us.
            log.length = log.file.length()?;
        }
        Ok(log)
    }

    /// Returns whether another pi keeps this log from writing.
    pub(crate) fn is_held_by_another(&self) -> bool {
        self.access == AccessMode::Write && !self.claimed
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

    /// Appends a record, line feed included, and returns where it begins.
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<u64, AppendError> {
        self.make_ready()?;
        if self.unterminated {
            let mut terminated = Vec::with_capacity(record.len() + 1);
            terminated.push(b'\n');
            terminated.extend_from_slice(record);
            let start = self.write(&terminated)?;
            self.unterminated = false;
            return Ok(start + 1);
        }
        self.write(record)
    }

    /// Gives the last line the line feed it lacks. Where that fails, the next record brings it.
    pub(crate) fn terminate(&mut self) -> Result<(), AppendError> {
        self.unterminated = true;
        self.make_ready()?;
        self.write(b"\n")?;
        self.unterminated = false;
        Ok(())
    }

    /// Takes note of what another program appended, up to what the file holds now.
    pub(crate) fn accept_growth(&mut self) -> io::Result<u64> {
        self.length = self.file.length()?;
        Ok(self.length)
    }

    /// Waits until the disk has everything.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn claim(&mut self) -> bool {
        self.claimed = self.claimed || self.file.claim() != Claim::HeldByAnother;
        self.claimed
    }

    /// Claims the file, and asks again for a moment if it is held. A child that a killed pi had forked and
    /// that had not become another program yet holds its claim that long.
    fn claim_patiently(&mut self) {
        for _ in 0..CLAIM_ATTEMPTS {
            if self.claim() {
                return;
            }
            std::thread::sleep(CLAIM_PAUSE);
        }
    }

    /// Checks that this log may write and that the file is as it left it.
    fn make_ready(&mut self) -> Result<(), AppendError> {
        if self.access == AccessMode::Read {
            return Err(AppendError::ReadOnly);
        }
        match self.file.standing().map_err(AppendError::Write)? {
            Standing::InPlace => {}
            Standing::Replaced => return Err(AppendError::Replaced),
            Standing::Removed => return Err(AppendError::Deleted),
        }
        if !self.claim() {
            return Err(AppendError::InUse);
        }
        if let Some(record) = self.torn.take() {
            self.take_back(&record)?;
        }
        let found = self.file.length().map_err(AppendError::Write)?;
        if found > self.length {
            let bytes = found - self.length;
            return Err(AppendError::ConcurrentWrite { bytes });
        }
        if found < self.length {
            return Err(AppendError::Replaced);
        }
        Ok(())
    }

    fn write(&mut self, record: &[u8]) -> Result<u64, AppendError> {
        let error = match self.file.append(record) {
            Ok(taken) if taken == record.len() => return self.locate(record),
            Ok(_) => io::ErrorKind::StorageFull.into(),
            Err(error) => error,
        };
        self.take_back(record)?;
        Err(AppendError::Write(error))
    }

    /// Finds the record just written, which is behind the last one unless another program wrote in
    /// the same instant. In that case the record stands, and the next one will be refused.
    fn locate(&mut self, record: &[u8]) -> Result<u64, AppendError> {
        let start = self.length;
        let end = start + record.len() as u64;
        // The record is written; that the length cannot be asked for does not undo it.
        let found = self.file.length().unwrap_or(end);
        if found == end {
            self.length = end;
            return Ok(start);
        }
        tracing::warn!(path = ?self.path, "another program wrote to the session in the same instant");
        let behind = read_range(&*self.file, start, found).map_err(AppendError::Write)?;
        match memmem::rfind(&behind, record) {
            Some(position) => Ok(start + position as u64),
            None => Err(AppendError::Replaced),
        }
    }

    /// Cuts off what a failed write left behind, and only that.
    fn take_back(&mut self, record: &[u8]) -> Result<(), AppendError> {
        self.cut_off(record).map_err(|error| {
            self.torn = Some(record.into());
            AppendError::Torn(error)
        })
    }

    fn cut_off(&mut self, record: &[u8]) -> io::Result<()> {
        let found = self.file.length()?;
        if found <= self.length {
            return Ok(());
        }
        let left = read_range(&*self.file, self.length, found)?;
        if !record.starts_with(&left) {
            // The bytes are another program's: the next record will be refused for them.
            return Ok(());
        }
        self.file.truncate(self.length)
    }
}

/// Reads a range of a file; it is an error if the file ends before.
pub(crate) fn read_range(file: &dyn LogFile, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let count = file.read_at(&mut bytes, start)?;
    if count < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
