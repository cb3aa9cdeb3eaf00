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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use pi_test_support::{
        DiskFault, DiskOperation, install_kernel_fault, kernel_fault_command, was_killed_by_fault,
    };
    use pretty_assertions::assert_eq;

    use super::*;

    const LINE_FILE: &str = "PI_TEST_LINE_FILE";

    fn lines(path: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        let read = |line: &[u8]| lines.push(String::from_utf8(line.to_vec()).unwrap());
        LineFile::open(path, read).unwrap();
        lines
    }

    #[test]
    #[ignore = "run by another test as a child process"]
    fn append_with_injected_fault() {
        if let Ok(path) = std::env::var(LINE_FILE) {
            let mut file = LineFile::open(Path::new(&path), |_line| {}).unwrap();
            if install_kernel_fault() {
                file.append(b"the second line\n").unwrap();
            }
        }
    }

    #[test]
    fn a_failed_or_killed_append_leaves_complete_lines() {
        for step in [DiskOperation::Write, DiskOperation::Sync] {
            for fault in DiskFault::ALL.into_iter().take(4) {
                let case = format!("{fault:?} at {step:?}");
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("lines");
                let mut file = LineFile::open(&path, |_line| {}).unwrap();
                file.append(b"the first line\n").unwrap();
                let test = "line_file::tests::append_with_injected_fault";
                let output = kernel_fault_command(test, step, fault)
                    .env(LINE_FILE, &path)
                    .output()
                    .unwrap();
                assert!(!output.status.success(), "{case}");
                let mut expected = vec!["the first line\n"];
                if fault == DiskFault::Kill {
                    assert!(was_killed_by_fault(output.status), "{case}: {output:?}");
                    // Written, but not acknowledged.
                    expected.extend((step == DiskOperation::Sync).then_some("the second line\n"));
                }
                assert_eq!(lines(&path), expected, "{case}: {output:?}");
                let mut file = LineFile::open(&path, |_line| {}).unwrap();
                file.append(b"the next line\n").unwrap();
                expected.push("the next line\n");
                assert_eq!(lines(&path), expected, "{case}: the next line");
            }
        }
    }
}
