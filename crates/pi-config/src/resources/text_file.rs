//! Reading a small text file that somebody else may have put there.
//!
//! Only regular files are read, opened in a way that a pipe or a device cannot block, and never
//! more than the caller asked for. What is not UTF-8 is replaced, as the TypeScript pi does.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// The most of one text file that is read: far above any prompt a person writes.
pub(crate) const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// Why a text file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TextFileError {
    #[error("not a regular file")]
    NotRegular,
    #[error("larger than {limit} bytes; make it smaller")]
    TooLarge { limit: u64 },
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl TextFileError {
    /// Tells whether there is no such file.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::Io(error) => matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ),
            Self::NotRegular | Self::TooLarge { .. } => false,
        }
    }
}

/// Reads a whole file as text, without its byte order mark.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, TextFileError> {
    let file = open_regular(path)?;
    read_text_from(file, limit)
}

/// Reads everything a reader gives as text, without its byte order mark.
pub(crate) fn read_text_from(reader: impl Read, limit: u64) -> Result<String, TextFileError> {
    let mut bytes = Vec::new();
    reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(TextFileError::TooLarge { limit });
    }
    Ok(decode(bytes))
}

/// Turns bytes into text, without a byte order mark.
pub(crate) fn decode(bytes: Vec<u8>) -> String {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    text
}

/// Opens a regular file for reading. The kind is checked on the open handle, so that a file which
/// is swapped for a pipe in between cannot block either.
pub(crate) fn open_regular(path: &Path) -> Result<File, TextFileError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(TextFileError::NotRegular)
    }
}

#[cfg(test)]
mod tests {
    use pi_test_support::TempHome;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn text_loses_its_byte_order_mark_and_keeps_what_is_not_utf8_visible() {
        assert_eq!(decode(b"\xef\xbb\xbfhello".to_vec()), "hello");
        assert_eq!(decode(b"a\xffb".to_vec()), "a\u{fffd}b");
    }

    #[test]
    fn a_file_over_the_limit_is_refused_not_cut() {
        let home = TempHome::new();
        let path = home.write("big.md", "12345");
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert!(matches!(
            read_text(&path, 4),
            Err(TextFileError::TooLarge { limit: 4 })
        ));
    }

    #[test]
    fn a_directory_is_not_text() {
        let home = TempHome::new();
        assert!(matches!(
            read_text(home.path(), 10),
            Err(TextFileError::NotRegular)
        ));
    }
}
