//! Session files on disk. Files are private to the user (0600, in 0700 directories) because
//! transcripts contain what tools read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{AccessMode, LockState, LogFile, LogStorage, PathState, stale_temp_files};
use crate::lock;

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
            create_private_directory(directory)?;
        }
        let mut options = private_options();
        options.read(true).append(true).create_new(true);
        DiskFile::new(options.open(path)?, path)
    }

    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        // Replace the target of a symlink, not the symlink.
        let target = fs::canonicalize(path)?;
        replace_file(&target, |file| file.write_all(content), |_| Ok(()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Replaces a file atomically and removes stale temporary files of killed processes. The new
/// content is written to a temporary file and synced before `confirm` is called; on any failure the
/// old file stays.
pub(crate) fn replace_file<E: From<io::Error>>(
    target: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    confirm: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    stale_temp_files::remove(target);
    let temporary = stale_temp_files::temporary_path(target);
    let replaced = write_temporary(&temporary, target, fill)
        .map_err(E::from)
        .and_then(|file| confirm(&file))
        .and_then(|()| Ok(fs::rename(&temporary, target)?));
    if replaced.is_err()
        && let Err(error) = fs::remove_file(&temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %temporary.display(), %error, "cannot remove temporary file");
    }
    replaced?;
    sync_directory(target);
    Ok(())
}

fn write_temporary(
    temporary: &Path,
    target: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<File> {
    let unwritten = private_options()
        .write(true)
        .create_new(true)
        .open(temporary)?;
    stale_temp_files::lock(&unwritten);
    let mut buffered = BufWriter::new(unwritten);
    fill(&mut buffered)?;
    let written = buffered
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    written.set_permissions(fs::metadata(target)?.permissions())?;
    written.sync_all()?;
    Ok(written)
}

/// Makes a rename durable across power loss where directories can be synced. The rename itself has
/// already succeeded.
fn sync_directory(file: &Path) {
    if cfg!(unix)
        && let Some(directory) = file.parent()
        && let Err(error) = File::open(directory).and_then(|directory| directory.sync_all())
    {
        tracing::debug!(path = %directory.display(), %error, "cannot sync directory");
    }
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a file that only the user can access; fails if it exists.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        create_private_directory(directory)?;
    }
    private_options().write(true).create_new(true).open(path)
}

/// Creates a directory and its parents that only the user can access. An existing directory is not
/// changed.
pub(crate) fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

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

    fn try_lock(&self) -> LockState {
        lock::try_lock(&self.file, &self.path)
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
