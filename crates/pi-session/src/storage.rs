//! Where the bytes of a session are: the seam between the log's promise and a real disk.
//!
//! [`LogStorage`] opens, creates and replaces files, [`LogFile`] reads and appends to one. Neither
//! decides anything: what to do about a short write or a stranger's bytes is the business of
//! [`crate::log`]. Tests put failing disks behind the same traits.

use std::fmt;
use std::io;
use std::path::Path;

pub(crate) mod disk;
#[cfg(test)]
pub(crate) mod faulty;
mod leftovers;
pub(crate) mod memory;

pub(crate) use disk::DiskStorage;
pub(crate) use memory::MemoryFile;

/// What may be done with a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessMode {
    /// Read and append; a damaged end is repaired, an old version brought up to date.
    #[default]
    Write,
    /// Only read; the file stays as it is, byte for byte.
    Read,
}

/// Opens, creates and replaces the files of sessions.
pub(crate) trait LogStorage: fmt::Debug + Send + Sync {
    /// Opens a file that exists.
    fn open(&self, path: &Path, access: AccessMode) -> io::Result<Box<dyn LogFile>>;
    /// Creates a file that must not exist.
    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>>;
    /// Replaces a file's content in one step: afterwards it is wholly the old or wholly the new.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Removes a file that this process has just created.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The bytes of one session.
pub(crate) trait LogFile: fmt::Debug + Send + Sync {
    /// Reads at an offset, as much as there is; less than asked for only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Hands the bytes to the end of the file in one write and returns how many were taken.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Returns how long the file is.
    fn length(&self) -> io::Result<u64>;
    /// Returns whether the path still leads to this file.
    fn standing(&self) -> io::Result<Standing>;
    /// Claims the file among processes that ask; see [`Claim`].
    fn claim(&self) -> Claim;
    /// Waits until the disk has everything.
    fn sync(&self) -> io::Result<()>;
}

/// What became of the path a file was opened by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It still leads to the file.
    InPlace,
    /// It leads to another file.
    Replaced,
    Removed,
}

/// The answer to a claim on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is ours until it is closed, or until this process ends however it ends.
    Granted,
    HeldByAnother,
    /// The file system cannot say; some network shares know no locks.
    Unsupported,
}
