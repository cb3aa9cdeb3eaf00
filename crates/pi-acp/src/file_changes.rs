//! The text of a file before and after a tool call.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Larger files are not shown as a diff.
const MAX_DIFF_BYTES: u64 = 1024 * 1024;

/// The text of a file at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileText {
    Missing,
    Text(String),
    /// Too large, not text, or not a regular file.
    Other,
}

impl FileText {
    /// Returns a text, unless it is too large.
    pub(crate) fn of(text: String) -> Self {
        if text.len() as u64 <= MAX_DIFF_BYTES {
            Self::Text(text)
        } else {
            Self::Other
        }
    }

    pub(crate) fn read(path: &Path) -> Self {
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::Missing,
            Err(_) => return Self::Other,
        };
        // Opening a named pipe would wait.
        if !metadata.is_file() || metadata.len() > MAX_DIFF_BYTES {
            return Self::Other;
        }
        let mut text = String::new();
        let read = File::open(path)
            .and_then(|file| file.take(MAX_DIFF_BYTES + 1).read_to_string(&mut text));
        match read {
            Ok(length) if length as u64 <= MAX_DIFF_BYTES => Self::Text(text),
            _ => Self::Other,
        }
    }
}

/// Returns the number of the first line that differs, starting at 1.
pub(crate) fn first_changed_line(before: &str, after: &str) -> Option<u64> {
    let (mut before, mut after) = (before.lines(), after.lines());
    let mut number = 1;
    loop {
        match (before.next(), after.next()) {
            (None, None) => return None,
            (one, other) if one != other => return Some(number),
            _ => number += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_first_changed_line_is_found() {
        for (before, after, expected) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\n", Some(2)),
            ("a\n", "a\nb\n", Some(2)),
            ("", "a\n", Some(1)),
        ] {
            assert_eq!(first_changed_line(before, after), expected, "{after:?}");
        }
    }
}
