//! What tools touch, as two small traits, so that an extension, SSH or a container can stand in.
//!
//! [`FileOperations`] reaches files, [`ProcessOperations`] runs commands. This machine's files are
//! [`LocalFiles`]; [`MemoryFiles`] and [`MemoryProcesses`] serve tests. Tools decide and speak; operations only do.

mod local;
mod memory;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use local::LocalFiles;
pub use memory::{MemoryFiles, MemoryProcesses};

/// The answer of a file operation.
pub type FileFuture<'a, T> = BoxFuture<'a, Result<T, FileError>>;

/// AccessMode to files. Paths are absolute.
///
/// No method may wait on anything but the disk: a named pipe or a device is refused, not opened.
pub trait FileOperations: Send + Sync {
    /// Returns the path with all links followed. What does not exist yet is kept by name.
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf>;

    /// Returns what stands at a path, links followed.
    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus>;

    /// Opens a regular file for reading.
    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile>;

    /// Lists a directory, in no particular order.
    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>>;

    /// Fails unless the file may be both read and written.
    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// Creates a directory and its parents. `path` comes from [`real_path`](Self::real_path);
    /// a link that appeared in it since is not followed.
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()>;

    /// Creates a file or replaces its contents, all or nothing where the file system allows it.
    /// `path` comes from [`real_path`](Self::real_path); a link that appeared in it since is not
    /// followed.
    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()>;

    /// Returns whether these are this machine's files, so that a search may walk the disk itself.
    fn is_local(&self) -> bool {
        false
    }
}

/// Files larger than this are not read whole: what is done with them takes memory several times over.
const MOST_BYTES_AT_ONCE: u64 = 256 * 1024 * 1024;

impl dyn FileOperations + '_ {
    /// Reads a whole regular file, unless it is larger than memory should hold.
    pub async fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        let file = self.open(path).await?;
        if file.size > MOST_BYTES_AT_ONCE {
            return Err(FileError::TooLarge(file.size));
        }
        // The size may be wrong by the time the file is read.
        let mut contents = Vec::with_capacity(usize::try_from(file.size).unwrap_or_default());
        let mut reader = file.reader.take(MOST_BYTES_AT_ONCE + 1);
        reader.read_to_end(&mut contents).await?;
        let size = contents.len() as u64;
        if size > MOST_BYTES_AT_ONCE {
            return Err(FileError::TooLarge(size));
        }
        Ok(contents)
    }
}

/// A file opened for reading.
pub struct OpenFile {
    /// Bytes it had when it was opened.
    pub size: u64,
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    pub kind: FileKind,
    /// Bytes of a regular file.
    pub size: u64,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub name: OsString,
    /// What it is, links followed; `None` where that cannot be found out, as for a dangling link.
    pub kind: Option<FileKind>,
}

/// A kind of file.
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

/// Why a file operation failed. The message completes "Cannot read x: ".
#[derive(Debug, Error)]
pub enum FileError {
    #[error("no such file or directory (ENOENT)")]
    Missing,
    /// The user may not.
    #[error("permission denied (EACCES)")]
    Denied,
    /// A regular file was needed.
    #[error("it is {0}{code}", code = if *.0 == FileKind::Directory { " (EISDIR)" } else { "" })]
    NotAFile(FileKind),
    /// A directory was needed.
    #[error("a part of the path is not a directory (ENOTDIR)")]
    NotADirectory,
    /// Longer than a name or a path can be.
    #[error("the name or the path is longer than the system takes (ENAMETOOLONG)")]
    NameTooLong,
    /// Larger than is read at once; holds its bytes.
    #[error("it has {0} bytes, too many to hold in memory; use a shell command instead")]
    TooLarge(u64),
    /// A part of the path became a link after it was checked.
    #[error("a part of the path became a symbolic link meanwhile; nothing was written")]
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
            // Elsewhere this says as much of characters that a name must not have.
            io::ErrorKind::InvalidFilename if cfg!(unix) => Self::NameTooLong,
            _ => Self::Other(error),
        }
    }
}

/// Runs commands.
pub trait ProcessOperations: Send + Sync {
    /// Runs a command and sends its output, both streams in order of arrival, as it comes.
    ///
    /// The receiver may be slow: the command waits for it. When the command is cancelled or runs out
    /// of time, nothing of it may survive.
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>>;
}

/// A command line and where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellCommand {
    /// The command, in the shell's language.
    pub command: String,
    /// The directory it runs in.
    pub cwd: PathBuf,
    pub environment: BTreeMap<OsString, OsString>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// How a command ended: its exit code, 128 + signal when a signal ended it, `None` when unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(pub Option<i32>);

/// Why a command has no exit code.
#[derive(Debug, Error)]
pub enum ProcessError {
    #[error("the command was aborted")]
    Aborted,
    #[error("the command ran out of time after {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The directory is gone.
    #[error("the working directory does not exist: {}", .0.display())]
    MissingDirectory(PathBuf),
    /// It did not start.
    #[error("the command could not be started: {0}")]
    Start(#[source] io::Error),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}
