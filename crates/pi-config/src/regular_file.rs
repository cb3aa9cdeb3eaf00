//! Files read with suspicion: a repository may put a pipe, a device or an endless file in their place.
//!
//! Opening one never waits, and reading one never takes more than a sensible amount of memory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Far more than anybody writes by hand.
const MAX_BYTES: u64 = 4 << 20;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFile {
    /// A folder, a pipe, a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// More than anybody writes by hand.
    #[error("it is larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    /// Not UTF-8.
    #[error("it is not UTF-8 text")]
    NotText,
    /// Not what the file should hold, and where.
    #[error("{0}")]
    Malformed(String),
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a text; `None` when there is no file.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, UnreadableFile> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(UnreadableFile::TooLarge);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_invalid) => Err(UnreadableFile::NotText),
    }
}

/// Opens a regular file; `None` when there is none.
pub(crate) fn open(path: &Path) -> Result<Option<File>, UnreadableFile> {
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() {
        Ok(Some(file))
    } else {
        Err(UnreadableFile::NotRegular)
    }
}

/// Tells whether there is no such file; a file in a folder's place counts.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens a file; a pipe nobody writes to does not hold us up.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}
