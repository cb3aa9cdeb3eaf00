//! Safe file replacement on Unix. The parent directory is opened component by component without
//! following symlinks, and everything else is relative to it: replacing a directory or the file
//! with a symlink in between causes an error, not a write elsewhere. The new contents are written
//! to a temporary file and renamed over the target. If that is impossible, or would break a hard
//! link, change the owner or lose attributes, the file is written in place.

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "attributes.rs"]
mod attributes;

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use pi_core::{FileError, FileKind};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::temporary_name;

/// Traversing a directory must not require permission to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Creates a directory and its parents; `path` must not contain symlinks.
pub(super) fn create_directories(path: &Path) -> Result<(), FileError> {
    open_directory(path, IfMissing::Create).map(drop)
}

/// Creates or replaces a file; `path` must not contain symlinks.
pub(super) fn replace(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::NotAFile(FileKind::Directory));
    };
    let directory = open_directory(parent, IfMissing::Fail)?;
    let Some(existing) = ExistingFile::open(&directory, name)? else {
        return write_and_rename(&directory, name, contents, None).map_err(FileError::from);
    };
    if existing.stat.st_nlink > 1 {
        return existing.write_in_place(contents);
    }
    match write_and_rename(&directory, name, contents, Some(&existing)) {
        Ok(()) => Ok(()),
        // The directory may not be writable, or the file may be a mount point.
        Err(error) if can_write_in_place(&error) => existing.write_in_place(contents),
        Err(error) => Err(error.into()),
    }
}

/// Opens a regular file for reading; `path` must not contain symlinks.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata), FileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::NotAFile(FileKind::Directory));
    };
    let directory = open_directory(parent, IfMissing::Fail)?;
    // Opening a device may have side effects.
    let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
    expect_regular(&stat.map_err(io_error)?)?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&directory, name, flags, Mode::empty())
        .map_err(|error| entry_error(&directory, name, error))?;
    expect_regular(&rustix::fs::fstat(&file).map_err(io_error)?)?;
    let file = File::from(file);
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Create,
    Fail,
}

fn open_directory(path: &Path, if_missing: IfMissing) -> Result<OwnedFd, FileError> {
    let mut directory = rustix::fs::open("/", DIRECTORY, Mode::empty()).map_err(io_error)?;
    for component in path.components() {
        let name = match component {
            Component::Normal(name) => name,
            Component::RootDir | Component::CurDir => continue,
            // Never part of a real path, and could leave the checked tree.
            Component::ParentDir | Component::Prefix(_) => return Err(FileError::NotADirectory),
        };
        directory = match rustix::fs::openat(&directory, name, DIRECTORY, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT) if if_missing == IfMissing::Create => create(&directory, name)?,
            Err(error) => return Err(entry_error(&directory, name, error)),
        };
    }
    Ok(directory)
}

fn create(directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, FileError> {
    match rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o777)) {
        // Another process may have created it in the meantime.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(io_error(error)),
    }
    rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())
        .map_err(|error| entry_error(directory, name, error))
}

/// Distinguishes a symlink from a file where a directory was expected: systems report either error
/// for both.
fn entry_error(directory: &OwnedFd, name: &OsStr, error: Errno) -> FileError {
    let is_link = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink());
    if is_link || error == Errno::LOOP {
        return FileError::LinkAppeared;
    }
    io_error(error)
}

/// The file before the write, opened for writing to check permissions.
struct ExistingFile {
    file: File,
    stat: Stat,
}

impl ExistingFile {
    fn open(directory: &OwnedFd, name: &OsStr) -> Result<Option<Self>, FileError> {
        let flags =
            OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(io_error(error)),
        };
        expect_regular(&stat)?;
        let file = rustix::fs::openat(directory, name, flags, Mode::empty())
            .map_err(|error| entry_error(directory, name, error))?;
        let stat = rustix::fs::fstat(&file).map_err(io_error)?;
        expect_regular(&stat)?;
        Ok(Some(Self {
            file: file.into(),
            stat,
        }))
    }

    fn write_in_place(mut self, contents: &[u8]) -> Result<(), FileError> {
        self.file.set_len(0)?;
        self.file.write_all(contents)?;
        Ok(())
    }
}

fn expect_regular(stat: &Stat) -> Result<(), FileError> {
    use rustix::fs::FileType;
    Err(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => FileError::LinkAppeared,
        FileType::Directory => FileError::NotAFile(FileKind::Directory),
        FileType::Fifo => FileError::NotAFile(FileKind::Pipe),
        FileType::Socket => FileError::NotAFile(FileKind::Socket),
        FileType::CharacterDevice | FileType::BlockDevice => FileError::NotAFile(FileKind::Device),
        FileType::Unknown => FileError::NotAFile(FileKind::Other),
    })
}

fn write_and_rename(
    directory: &OwnedFd,
    name: &OsStr,
    contents: &[u8],
    replaced: Option<&ExistingFile>,
) -> io::Result<()> {
    let temporary = temporary_name();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The contents of a private file must never be readable by others.
    let mode = Mode::from_raw_mode(if replaced.is_some() { 0o600 } else { 0o666 });
    let file = rustix::fs::openat(directory, temporary.as_str(), flags, mode)?;
    let written = fill(&mut file.into(), contents, replaced).and_then(|()| {
        Ok(rustix::fs::renameat(
            directory,
            temporary.as_str(),
            directory,
            name,
        )?)
    });
    if written.is_err()
        && let Err(error) = rustix::fs::unlinkat(directory, temporary.as_str(), AtFlags::empty())
    {
        tracing::warn!(%error, temporary, "cannot remove temporary file");
    }
    written
}

fn fill(file: &mut File, contents: &[u8], replaced: Option<&ExistingFile>) -> io::Result<()> {
    file.write_all(contents)?;
    let Some(replaced) = replaced else {
        return Ok(());
    };
    let own = rustix::fs::fstat(&*file)?;
    if (own.st_uid, own.st_gid) != (replaced.stat.st_uid, replaced.stat.st_gid) {
        rustix::fs::fchown(
            &*file,
            Some(rustix::fs::Uid::from_raw(replaced.stat.st_uid)),
            Some(rustix::fs::Gid::from_raw(replaced.stat.st_gid)),
        )?;
    }
    // As when writing in place, the setuid and setgid bits are cleared.
    rustix::fs::fchmod(&*file, Mode::from_raw_mode(replaced.stat.st_mode & 0o1777))?;
    // After the mode, because it changes an access control list.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    attributes::copy_attributes(&replaced.file, file)?;
    Ok(())
}

/// Errors of the temporary file approach, not of the target itself.
fn can_write_in_place(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(
        errno,
        Some(Errno::ACCESS | Errno::PERM | Errno::BUSY | Errno::XDEV | Errno::NOTSUP)
    )
}

fn io_error(error: Errno) -> FileError {
    io::Error::from(error).into()
}
