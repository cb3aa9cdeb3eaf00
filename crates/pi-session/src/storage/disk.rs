//! Session files on disk. Files are private to the user (0600, in 0700 directories) because
//! transcripts contain what tools read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pi_fs::atomic_file::FileReplacement;
use pi_fs::file_lock::{self, LockState};
use pi_fs::{NewFileMode, TemporaryNames, private};

use super::{AccessMode, FileStamp, LogFile, LogStorage, PathState};
use crate::checksums::checksum_path;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DiskStorage;

impl LogStorage for DiskStorage {
    fn open(&self, path: &Path, access: AccessMode) -> io::Result<Box<dyn LogFile>> {
        // Opening a pipe would block until its other end is opened.
        check_regular(&fs::metadata(path)?)?;
        let mut options = OpenOptions::new();
        options.read(true).append(access == AccessMode::Write);
        DiskFile::new(options.open(path)?, path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>> {
        if let Some(directory) = path.parent() {
            private::create_directory(directory)?;
        }
        DiskFile::new(private::create_log_file(path)?, path)
    }

    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        REPLACEMENT.run(path, |file| file.write_all(content), |_| Ok(()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// How a session file is replaced. Names of temporary files do not include the session's file name, so they stay
/// short.
pub(crate) const REPLACEMENT: FileReplacement = FileReplacement {
    names: TemporaryNames::Prefix(".pi-session-"),
    ..FileReplacement::durable(NewFileMode::Private)
};

#[derive(Debug)]
struct DiskFile {
    file: File,
    path: PathBuf,
    identity: FileIdentity,
}

impl DiskFile {
    #[expect(
        clippy::new_ret_no_self,
        reason = "callers use files through the `LogFile` trait"
    )]
    fn new(file: File, path: &Path) -> io::Result<Box<dyn LogFile>> {
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        Ok(Box::new(Self {
            identity: FileIdentity::of(&metadata),
            file,
            path: path.to_owned(),
        }))
    }
}

fn check_regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(())
}

impl LogFile for DiskFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match read_some(&self.file, rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn stamp(&self) -> io::Result<FileStamp> {
        let metadata = self.file.metadata()?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH);
        Ok(FileStamp {
            length: metadata.len(),
            modified_ns: modified.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or_default()),
        })
    }

    fn checksum_path(&self) -> Option<PathBuf> {
        checksum_path(&self.path)
    }

    fn path_state(&self) -> io::Result<PathState> {
        match fs::metadata(&self.path) {
            Ok(metadata) if FileIdentity::of(&metadata) == self.identity => {
                Ok(PathState::Unchanged)
            }
            Ok(_) => Ok(PathState::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PathState::Removed),
            Err(error) => Err(error),
        }
    }

    /// The TypeScript pi takes no lock; its writes are detected by the file length, see [`crate::log`].
    fn try_lock(&self) -> LockState {
        file_lock::try_lock(&self.file, &self.path)
    }

    fn unlock(&self) {
        file_lock::unlock(&self.file, &self.path);
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Distinguishes files that had the same path.
#[derive(Debug, PartialEq, Eq)]
struct FileIdentity {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl FileIdentity {
    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device_and_inode: (metadata.dev(), metadata.ino()),
        }
    }

    /// Elsewhere an open file cannot be replaced, and other writers are detected by the file
    /// length.
    #[cfg(not(unix))]
    fn of(_metadata: &fs::Metadata) -> Self {
        Self {}
    }
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
