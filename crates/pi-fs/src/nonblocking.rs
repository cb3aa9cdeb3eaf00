//! Opens untrusted paths: a repository may contain a pipe or a device where a file is expected.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for reading without blocking on a pipe that has no writer, and without making a terminal the
/// process's own.
pub fn open_nonblocking(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{CWD, FileType, Mode};

    use super::*;

    #[test]
    fn a_pipe_without_a_writer_does_not_block() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let opened = open_nonblocking(&pipe).unwrap();
        assert!(!opened.metadata().unwrap().is_file());
    }
}
