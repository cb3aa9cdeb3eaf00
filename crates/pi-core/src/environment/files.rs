//! Access to files.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

pub type FileFuture<'a, T> = BoxFuture<'a, Result<T, FileError>>;

/// Access to files. Paths are absolute.
///
/// Methods must not block on anything but the disk: named pipes and devices are rejected, not
/// opened.
pub trait FileOperations: Send + Sync {
    /// Returns the path with all symlinks resolved. Components that do not exist are kept.
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf>;

    /// Returns the status of a path, following symlinks.
    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus>;

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile>;

    /// Opens a file whose path comes from [`real_path`](Self::real_path); where the file system allows it, a symlink that
    /// appeared in it since is not followed. Operations that wrap others call theirs.
    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile>;

    /// Lists a directory in unspecified order.
    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>>;

    /// Fails unless the file can be read and written.
    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// Creates a directory and its parents. `path` comes from [`real_path`](Self::real_path); a
    /// symlink that appeared in it since is not followed.
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// Creates a file or replaces its contents, atomically where the file system allows it. `path`
    /// comes from [`real_path`](Self::real_path); a symlink that appeared in it since is not
    /// followed.
    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()>;

    /// Called before something else changes a path for the user, such as a command whose changes are kept. What is returned is
    /// finished after the change; `None` if none of the operations wants to know.
    fn observe_change<'a>(
        &'a self,
        path: &'a Path,
    ) -> BoxFuture<'a, Option<Box<dyn ObservedChange>>> {
        let _ = path;
        Box::pin(std::future::ready(None))
    }

    /// Returns the operations for one tool call, if they depend on it: a recorder binds changes to calls.
    fn for_call(&self, call: &str) -> Option<Arc<dyn FileOperations>> {
        let _ = call;
        None
    }
}

/// A change in progress; see [`FileOperations::observe_change`].
pub trait ObservedChange: Send {
    fn finish(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Larger files are not read into memory: processing them needs several times their size.
const MAX_READ_BYTES: u64 = 256 * 1024 * 1024;

impl dyn FileOperations + '_ {
    /// Reads a regular file, unless it is too large for memory.
    pub async fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        self.open(path).await?.read().await
    }
}

pub struct OpenFile {
    /// Size in bytes when it was opened.
    pub size: u64,
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
}

impl OpenFile {
    /// Reads the file, unless it is too large for memory.
    pub async fn read(self) -> Result<Vec<u8>, FileError> {
        if self.size > MAX_READ_BYTES {
            return Err(FileError::TooLarge(self.size));
        }
        // The size may have changed since the file was opened.
        let mut contents = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        let mut reader = self.reader.take(MAX_READ_BYTES + 1);
        reader.read_to_end(&mut contents).await?;
        let size = contents.len() as u64;
        if size > MAX_READ_BYTES {
            return Err(FileError::TooLarge(size));
        }
        Ok(contents)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    pub kind: FileKind,
    /// Size of a regular file in bytes.
    pub size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub name: OsString,
    /// Kind of the file, following symlinks; `None` if unknown, as for a dangling symlink.
    pub kind: Option<FileKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Pipe,
    Socket,
    /// A character or block device.
    Device,
    Other,
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "not a regular file",
        })
    }
}

/// Why a file operation failed. The message completes "Cannot read PATH: ".
#[derive(Debug, Error)]
pub enum FileError {
    #[error("no such file or directory (ENOENT)")]
    Missing,
    #[error("permission denied (EACCES)")]
    Denied,
    #[error("is {0}{code}", code = if *.0 == FileKind::Directory { " (EISDIR)" } else { "" })]
    NotAFile(FileKind),
    #[error("a component of the path is not a directory (ENOTDIR)")]
    NotADirectory,
    #[error("name or path too long (ENAMETOOLONG)")]
    NameTooLong,
    /// Size in bytes of a file that is too large to be read into memory.
    #[error("file too large ({0} bytes); use a shell command instead")]
    TooLarge(u64),
    /// A component of the path became a symlink after it was checked.
    #[error("a component of the path became a symbolic link; nothing was written")]
    LinkAppeared,
    #[error("{0}")]
    Other(#[source] io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::PermissionDenied => Self::Denied,
            io::ErrorKind::IsADirectory => Self::NotAFile(FileKind::Directory),
            io::ErrorKind::NotADirectory => Self::NotADirectory,
            // On other systems this error also means invalid characters.
            io::ErrorKind::InvalidFilename if cfg!(unix) => Self::NameTooLong,
            _ => Self::Other(error),
        }
    }
}
