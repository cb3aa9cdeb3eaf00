//! Storage backends for session files. [`LogStorage`] opens, creates and replaces files;
//! [`LogFile`] reads and appends to one. They make no decisions: [`crate::log`] handles short
//! writes and concurrent writers. Tests implement the same traits with failing disks.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::file_lock::LockState;

pub(crate) mod disk;
#[cfg(test)]
pub(crate) mod faulty;
pub(crate) mod memory;

pub(crate) use disk::DiskStorage;
pub(crate) use memory::MemoryFile;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessMode {
    /// Read and append. A torn tail is repaired and an old format is migrated.
    #[default]
    Write,
    /// Read only; the file is never modified.
    Read,
}

pub(crate) trait LogStorage: fmt::Debug + Send + Sync {
    fn open(&self, path: &Path, access: AccessMode) -> io::Result<Box<dyn LogFile>>;
    /// Creates a file; fails if it exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>>;
    /// Replaces a file atomically: readers see either the old or the new content.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Removes a file that this process has just created.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

pub(crate) trait LogFile: fmt::Debug + Send + Sync {
    /// Reads at an offset. Returns fewer bytes than requested only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Appends with a single write and returns how many bytes were written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    fn length(&self) -> io::Result<u64>;
    /// Returns the state of the file, to detect writes of other programs.
    fn stamp(&self) -> io::Result<FileStamp> {
        Ok(FileStamp {
            length: self.length()?,
            modified_ns: 0,
        })
    }
    /// Returns where the checksums of this file are kept; `None` for files that are not on disk.
    fn checksum_path(&self) -> Option<PathBuf> {
        None
    }
    /// Returns whether the path still refers to this file.
    fn path_state(&self) -> io::Result<PathState>;
    /// Tries to take the advisory lock; see [`LockState`].
    fn try_lock(&self) -> LockState;

    /// Releases the lock.
    fn unlock(&self) {}
    fn sync(&self) -> io::Result<()>;
}

/// The state of a file according to the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FileStamp {
    pub(crate) length: u64,
    /// Modification time in nanoseconds since 1970.
    pub(crate) modified_ns: u64,
}

/// What the path that a file was opened by refers to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathState {
    Unchanged,
    /// A different file.
    Replaced,
    Removed,
}
