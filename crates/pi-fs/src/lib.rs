//! Files that survive crashes and are shared with other programs.
//!
//! - [`atomic_file`] replaces a file as a whole: readers see either the old or the new content.
//! - [`staging`] does the same for directories.
//! - [`LockDir`] is the lock that the TypeScript pi uses for shared files; [`file_lock`] is the kernel's advisory
//!   lock on an open file.
//! - [`private`] creates files and directories that only the user can access.
//! - [`open_nonblocking`] opens untrusted paths, and [`opened_path`] returns where an open file is.
//!
//! Temporary files and directories left behind by killed processes are removed by the next writer. All functions
//! block; asynchronous callers run them on a blocking thread.
//!
//! ```
//! use pi_fs::NewFileMode;
//!
//! # fn main() -> std::io::Result<()> {
//! # let directory = tempfile::tempdir()?;
//! let path = directory.path().join("state.json");
//! pi_fs::atomic_file::write(&path, b"{}", NewFileMode::Private)?;
//! assert_eq!(std::fs::read(&path)?, b"{}");
//! # Ok(())
//! # }
//! ```

pub mod atomic_file;
pub mod file_lock;
mod lock_dir;
mod nonblocking;
mod opened_path;
pub mod private;
mod random;
mod rename;
pub mod staging;
mod temporary_file;

pub use atomic_file::NewFileMode;
pub use lock_dir::{LockAttempt, LockAttempts, LockDir, LockError, LockTiming};
pub use nonblocking::open_nonblocking;
pub use opened_path::opened_path;
pub use rename::rename_without_replacing;
pub use temporary_file::TemporaryNames;
