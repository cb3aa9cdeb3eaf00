//! Append-only files of JSON lines that survive a kill of their writer: an incomplete last line was not acknowledged and
//! is removed by the next writer.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// An append-only file and the length that its owner knows.
pub(crate) struct Journal {
    file: File,
    length: u64,
}

impl Journal {
    /// Opens a file, creates it if necessary, and removes an incomplete last line. Returns the complete lines. The
    /// caller holds the lock that makes it the only writer.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, String)> {
        let mut file = pi_fs::private::open_or_create(path)?;
        let text = read_complete_lines(&mut file)?;
        let length = text.len() as u64;
        if file.metadata()?.len() > length {
            file.set_len(length)?;
        }
        Ok((Self { file, length }, text))
    }

    /// Appends a line. Fails with `WouldBlock`, and writes nothing, if another writer has appended since.
    pub(crate) fn append(&mut self, line: &str) -> io::Result<()> {
        if !self.is_current()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.file.seek(SeekFrom::Start(self.length))?;
        let line = format!("{line}\n");
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            self.file.set_len(self.length).ok();
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Whether no other writer has appended.
    pub(crate) fn is_current(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() == self.length)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Reads the complete lines of a file; nothing if it does not exist.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    match File::open(path) {
        Ok(mut file) => read_complete_lines(&mut file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Reads the complete lines of an open file.
pub(crate) fn read_complete_lines(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    bytes.truncate(end.map_or(0, |end| end + 1));
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_incomplete_last_line_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(read(&path).unwrap(), "one\ntwo\n");
        let (mut journal, text) = Journal::open(&path).unwrap();
        assert_eq!(text, "one\ntwo\n");
        journal.append("three").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_writer_that_missed_a_line_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let (mut first, _) = Journal::open(&path).unwrap();
        let (mut second, _) = Journal::open(&path).unwrap();
        second.append("b").unwrap();
        let error = first.append("a").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(read(&path).unwrap(), "b\n");
    }
}
