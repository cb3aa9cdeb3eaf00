//! A file of lines that grows: a line is on disk when it has been appended, and a crash cuts at most the last one.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct LineFile(File);

impl LineFile {
    /// Opens or creates the file and passes every line to `visit`. A line that a crash has cut gets a line end, so that it
    /// does not damage the next one.
    pub(crate) fn open(path: &Path, visit: impl FnMut(&[u8])) -> io::Result<Self> {
        let mut file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        read_lines(&file, visit)?;
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(Self(file))
    }

    /// Appends complete lines. Fails as a whole.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let length = self.0.metadata()?.len();
        let written = self.0.write_all(lines).and_then(|()| self.0.sync_data());
        if written.is_err() {
            // A partial line would be joined with the next one.
            self.0.set_len(length)?;
        }
        written
    }
}

/// Passes the lines of a file to `visit`, with their ends.
pub(crate) fn read_lines(file: &File, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(0))?;
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        visit(&line);
        line.clear();
    }
    Ok(())
}
