//! Reading a small text file that somebody else may have put there.
//!
//! Never more than the caller asked for is read, and what is not UTF-8 is replaced, as the
//! TypeScript pi does. That a pipe or a device cannot block is seen to by `regular_file`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::regular_file::{self, UnreadableFile};

/// The most of one text file that is read: far above any prompt a person writes.
pub(crate) const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// Why a text file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TextFileError {
    #[error("there is no such file")]
    Missing,
    #[error("larger than {limit} bytes; make it smaller")]
    TooLarge { limit: u64 },
    #[error("{0}")]
    Unreadable(#[from] UnreadableFile),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads a whole file as text, without its byte order mark.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, TextFileError> {
    let file = open_regular(path)?;
    // With room for all of it, the file is read in one piece.
    let length = file.metadata()?.len().min(limit);
    let room = usize::try_from(length)
        .unwrap_or_default()
        .saturating_add(1);
    read_into(Vec::with_capacity(room), file, limit)
}

/// Reads everything a reader gives as text, without its byte order mark.
pub(crate) fn read_text_from(reader: impl Read, limit: u64) -> Result<String, TextFileError> {
    read_into(Vec::new(), reader, limit)
}

fn read_into(mut bytes: Vec<u8>, reader: impl Read, limit: u64) -> Result<String, TextFileError> {
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

/// Opens a regular file for reading.
pub(crate) fn open_regular(path: &Path) -> Result<File, TextFileError> {
    regular_file::open(path)?.ok_or(TextFileError::Missing)
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
            Err(TextFileError::Unreadable(UnreadableFile::NotRegular))
        ));
    }
}
