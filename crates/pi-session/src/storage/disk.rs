//! Session files on a real disk.
//!
//! Files are the user's alone (0600 in directories of 0700): a transcript holds what tools read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{AccessMode, Claim, LogFile, LogStorage, Standing, leftovers};
use crate::lock;

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DiskStorage;

impl LogStorage for DiskStorage {
    fn open(&self, path: &Path, access: AccessMode) -> io::Result<Box<dyn LogFile>> {
        // A pipe would keep the open call waiting for its other end.
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
        // Through a link, the file behind it is replaced and not the link.
        let target = fs::canonicalize(path)?;
        replace_with(&target, |file| file.write_all(content), |_| Ok(()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Replaces a file in one step, and clears away what others that were killed at it left. The new one is filled beside it and safe on the disk when `confirm`
/// has the last word; if anything fails, the old one stays.
pub(crate) fn replace_with<E: From<io::Error>>(
    target: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    confirm: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    leftovers::clear(target);
    let beside = leftovers::temporary_path(target);
    let replaced = write_beside(&beside, target, fill)
        .map_err(E::from)
        .and_then(|file| confirm(&file))
        .and_then(|()| Ok(fs::rename(&beside, target)?));
    if replaced.is_err()
        && let Err(error) = fs::remove_file(&beside)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %beside.display(), %error, "a temporary file stays behind");
    }
    replaced?;
    sync_directory(target);
    Ok(())
}

fn write_beside(
    beside: &Path,
    target: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<File> {
    let unwritten = private_options()
        .write(true)
        .create_new(true)
        .open(beside)?;
    leftovers::hold(&unwritten);
    let mut buffered = BufWriter::new(unwritten);
    fill(&mut buffered)?;
    let written = buffered
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    written.set_permissions(fs::metadata(target)?.permissions())?;
    written.sync_all()?;
    Ok(written)
}

/// Makes a rename last over a power cut, where directories can be synced. The file is in its place
/// either way.
fn sync_directory(file: &Path) {
    if cfg!(unix)
        && let Some(directory) = file.parent()
        && let Err(error) = File::open(directory).and_then(|directory| directory.sync_all())
    {
        tracing::debug!(path = %directory.display(), %error, "the directory cannot be synced");
    }
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a file for the user alone that must not exist.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        create_private_directory(directory)?;
    }
    private_options().write(true).create_new(true).open(path)
}

/// Creates a directory and those above it, for the user alone; one that exists stays as it is.
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
    identity: Identity,
}

impl DiskFile {
    #[expect(
        clippy::new_ret_no_self,
        reason = "the storage hands out files behind their trait"
    )]
    fn new(file: File, path: &Path) -> io::Result<Box<dyn LogFile>> {
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        Ok(Box::new(Self {
            identity: Identity::of(&metadata),
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
        return Err(io::Error::other("it is no regular file"));
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
                answer => return answer,
            }
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn standing(&self) -> io::Result<Standing> {
        match fs::metadata(&self.path) {
            Ok(metadata) if Identity::of(&metadata) == self.identity => Ok(Standing::InPlace),
            Ok(_) => Ok(Standing::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Standing::Removed),
            Err(error) => Err(error),
        }
    }

    fn claim(&self) -> Claim {
        lock::claim(&self.file, &self.path)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// What tells one file from another at the same path.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device_and_inode: (metadata.dev(), metadata.ino()),
        }
    }

    /// Elsewhere an open file cannot be replaced, and its length tells of other writers.
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
