//! Reads untrusted files: a repository may contain a pipe, a device or a huge file where a text file is expected.
//!
//! Opening a file never blocks, and reading is bounded in memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Limit for files that pi or the TypeScript pi writes.
pub(crate) const MAX_STORED_BYTES: u64 = 64 << 20;

/// Limit for files written by hand.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ReadFileError {
    /// A directory, pipe or device.
    #[error("not a regular file")]
    NotRegular,
    #[error("larger than {}", format_size(*limit))]
    TooLarge {
        /// In bytes.
        limit: u64,
    },
    #[error("not valid UTF-8")]
    NotUtf8,
    /// Must not be read, with the reason.
    #[error("{0}")]
    Denied(String),
    /// Invalid contents, with their position.
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn format_size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

/// Reads a UTF-8 text file; `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, ReadFileError> {
    let Some(bytes) = read_bytes(path, MAX_BYTES)? else {
        return Ok(None);
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_invalid) => Err(ReadFileError::NotUtf8),
    }
}

/// Reads prose for a model; `None` if the file does not exist. A byte order mark is
/// removed and invalid UTF-8 replaced, as in the TypeScript pi.
pub(crate) fn read_prose(path: &Path, limit: u64) -> Result<Option<String>, ReadFileError> {
    Ok(read_bytes(path, limit)?.map(decode_prose))
}

/// Decodes bytes leniently; see [`read_prose`].
pub(crate) fn decode_prose(bytes: Vec<u8>) -> String {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    text
}

impl From<ReadFileError> for io::Error {
    fn from(error: ReadFileError) -> Self {
        match error {
            ReadFileError::Io(error) => error,
            other => Self::other(other),
        }
    }
}

/// Reads to the end; fails if there are more than `limit` bytes.
pub(crate) fn read_up_to(
    reader: impl Read,
    limit: u64,
    mut bytes: Vec<u8>,
) -> Result<Vec<u8>, ReadFileError> {
    reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(ReadFileError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Reads a regular file; `None` if it does not exist.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadFileError> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    // With enough capacity, the file is read in one call.
    let length = file.metadata()?.len().min(limit);
    let capacity = usize::try_from(length)
        .unwrap_or_default()
        .saturating_add(1);
    read_up_to(file, limit, Vec::with_capacity(capacity)).map(Some)
}

/// Opens a regular file; `None` if it does not exist.
pub(crate) fn open(path: &Path) -> Result<Option<File>, ReadFileError> {
    let file = match pi_fs::open_nonblocking(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() {
        Ok(Some(file))
    } else {
        Err(ReadFileError::NotRegular)
    }
}

/// Returns whether the file does not exist, which includes a parent that is not a directory.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use pi_test_support::TempHome;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn byte_order_mark_is_removed_and_invalid_utf8_is_replaced() {
        assert_eq!(decode_prose(b"\xef\xbb\xbfhello".to_vec()), "hello");
        assert_eq!(decode_prose(b"a\xffb".to_vec()), "a\u{fffd}b");
    }

    #[test]
    fn file_over_the_limit_is_rejected_not_truncated() {
        let home = TempHome::new();
        let path = home.write("big.md", "12345");
        assert_eq!(read_prose(&path, 5).unwrap().as_deref(), Some("12345"));
        assert!(matches!(
            read_prose(&path, 4),
            Err(ReadFileError::TooLarge { limit: 4 })
        ));
    }

    #[test]
    fn directory_is_an_error_and_missing_file_is_none() {
        let home = TempHome::new();
        assert!(matches!(
            read_prose(home.path(), 10),
            Err(ReadFileError::NotRegular)
        ));
        assert!(matches!(read_prose(&home.path().join("x"), 10), Ok(None)));
    }
}
