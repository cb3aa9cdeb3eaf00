//! Files read with suspicion: a repository may put a pipe, a device or an endless file in their place.
//!
//! Opening one never waits, and reading one never takes more than a sensible amount of memory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// More than any program stores in one of its files for users.
pub(crate) const MAX_STORED_BYTES: u64 = 64 << 20;

/// Far more than anybody writes by hand.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFileError {
    /// A directory, a pipe, a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// More than anybody writes by hand.
    #[error("it is larger than {}", size(*limit))]
    TooLarge {
        /// How many bytes would have been read.
        limit: u64,
    },
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

fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

/// Reads a text; `None` when there is no file.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, ReadFileError> {
    let Some(bytes) = read_bytes(path, MAX_BYTES)? else {
        return Ok(None);
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_invalid) => Err(ReadFileError::NotText),
    }
}

/// Reads a text a person wrote for a model; `None` when there is no file. A byte order mark is
/// dropped, and what is not UTF-8 is replaced, as the TypeScript pi does.
pub(crate) fn read_prose(path: &Path, limit: u64) -> Result<Option<String>, ReadFileError> {
    Ok(read_bytes(path, limit)?.map(prose))
}

/// Turns bytes into such a text.
pub(crate) fn prose(bytes: Vec<u8>) -> String {
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

/// Reads everything a reader gives, unless it is too much.
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

/// Reads a file; `None` when there is none.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadFileError> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    // With room for all of it, the file is read in one piece.
    let length = file.metadata()?.len().min(limit);
    let room = usize::try_from(length)
        .unwrap_or_default()
        .saturating_add(1);
    read_up_to(file, limit, Vec::with_capacity(room)).map(Some)
}

/// Opens a regular file; `None` when there is none.
pub(crate) fn open(path: &Path) -> Result<Option<File>, ReadFileError> {
    let file = match open_without_waiting(path) {
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

/// Returns whether there is no such file; a file in a directory's place counts.
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

#[cfg(test)]
mod tests {
    use pi_test_support::TempHome;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn prose_loses_its_byte_order_mark_and_keeps_what_is_not_utf8_visible() {
        assert_eq!(prose(b"\xef\xbb\xbfhello".to_vec()), "hello");
        assert_eq!(prose(b"a\xffb".to_vec()), "a\u{fffd}b");
    }

    #[test]
    fn a_file_over_the_limit_is_refused_not_cut() {
        let home = TempHome::new();
        let path = home.write("big.md", "12345");
        assert_eq!(read_prose(&path, 5).unwrap().as_deref(), Some("12345"));
        assert!(matches!(
            read_prose(&path, 4),
            Err(ReadFileError::TooLarge { limit: 4 })
        ));
    }

    #[test]
    fn a_dir_is_no_text_and_a_missing_file_is_none() {
        let home = TempHome::new();
        assert!(matches!(
            read_prose(home.path(), 10),
            Err(ReadFileError::NotRegular)
        ));
        assert!(matches!(read_prose(&home.path().join("x"), 10), Ok(None)));
    }
}
