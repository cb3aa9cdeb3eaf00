//! Unix: everything is relative to the open directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::IfMissing;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Traversing a directory must not require permission to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const TRAVERSED: OFlags = DIRECTORY.union(OFlags::PATH);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const TRAVERSED: OFlags = DIRECTORY;

/// Start of the name of a file that is complete only when it is renamed.
const UNFINISHED: &str = ".pi-restored";

pub(crate) struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// Opens the directory of an absolute path.
    pub(crate) fn open(path: &Path, if_missing: IfMissing) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut directory = rustix::fs::open("/", TRAVERSED, Mode::empty())?;
        for component in path.parent().unwrap_or(path).components() {
            if let Component::Normal(component) = component {
                directory = open_below(&directory, component, if_missing)?;
            }
        }
        Ok(Self {
            directory,
            name: name.to_owned(),
        })
    }

    /// Returns an entry of the same directory that does not exist, named after this one.
    pub(crate) fn free_entry(self, suffix: &str) -> io::Result<Self> {
        for number in 1.. {
            let mut name = self.name.clone();
            name.push(suffix);
            if number > 1 {
                name.push(format!("-{number}"));
            }
            if status(&self.directory, &name)?.is_none() {
                return Ok(Self { name, ..self });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Removes a file, a link or an empty directory; returns false if a directory is not empty.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        let Some(found) = status(&self.directory, &self.name)? else {
            return Ok(true);
        };
        let flags = if is_kind(&found, FileType::Directory) {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        self.change(
            || match rustix::fs::unlinkat(&self.directory, &self.name, flags) {
                Err(Errno::NOENT) => Ok(true),
                Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
                removed => Ok(removed.map(|()| true)?),
            },
        )
    }

    pub(crate) fn create_directory(&self, mode: Option<u32>) -> io::Result<()> {
        let found = status(&self.directory, &self.name)?;
        if !found.is_some_and(|found| is_kind(&found, FileType::Directory)) {
            self.remove()?;
            self.change(|| {
                Ok(rustix::fs::mkdirat(
                    &self.directory,
                    &self.name,
                    Mode::RWXU,
                )?)
            })?;
        }
        match mode {
            Some(mode) => {
                let directory =
                    rustix::fs::openat(&self.directory, &self.name, TRAVERSED, Mode::empty());
                set_mode(&directory?, raw_mode(mode))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn create_link(&self, target: &Path) -> io::Result<()> {
        self.remove()?;
        self.change(|| Ok(rustix::fs::symlinkat(target, &self.directory, &self.name)?))
    }

    /// Creates or replaces a file; the owner of a replaced one is kept if that is permitted.
    pub(crate) fn write(&self, contents: &[u8], mode: Option<u32>) -> io::Result<()> {
        let old = status(&self.directory, &self.name)?;
        if old.is_some_and(|old| is_kind(&old, FileType::Directory)) {
            self.remove()?;
        }
        let old = old.filter(|old| is_kind(old, FileType::RegularFile));
        self.change(|| {
            let (mut file, unfinished) = self.create_unfinished()?;
            let written = file
                .write_all(contents)
                .and_then(|()| imitate(&file, old.as_ref(), mode))
                .and_then(|()| file.sync_all())
                .and_then(|()| {
                    let directory = &self.directory;
                    Ok(rustix::fs::renameat(
                        directory,
                        &unfinished,
                        directory,
                        &self.name,
                    )?)
                });
            if written.is_err() {
                rustix::fs::unlinkat(&self.directory, &unfinished, AtFlags::empty()).ok();
            }
            written
        })
    }

    fn create_unfinished(&self) -> io::Result<(File, OsString)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for number in 0_u32.. {
            let name = OsString::from(format!("{UNFINISHED}-{}-{number}", std::process::id()));
            match rustix::fs::openat(&self.directory, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => return Ok((file.into(), name)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Changes the directory. One that may not be written, as in the caches of some tools, is made writable for that.
    fn change<T>(&self, mut change: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match change() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.directory)?.st_mode);
                if mode.contains(Mode::RWXU)
                    || set_mode(&self.directory, mode | Mode::RWXU).is_err()
                {
                    return Err(error);
                }
                let changed = change();
                set_mode(&self.directory, mode)?;
                changed
            }
            changed => changed,
        }
    }
}

fn open_below(directory: &OwnedFd, name: &OsStr, if_missing: IfMissing) -> io::Result<OwnedFd> {
    let open = || rustix::fs::openat(directory, name, TRAVERSED, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) if if_missing == IfMissing::Create => {
            match rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => Err(error),
            }
        }
        opened => opened,
    };
    opened.map_err(|error| {
        let found = status(directory, name).ok().flatten();
        if found.is_some_and(|found| is_kind(&found, FileType::Symlink)) {
            io::Error::other("a directory of the path became a symbolic link")
        } else {
            error.into()
        }
    })
}

fn status(directory: &OwnedFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_kind(found: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(found.st_mode) == kind
}

/// Gives a new file the owner of the one that it replaces, and a mode.
fn imitate(file: &File, old: Option<&Stat>, mode: Option<u32>) -> io::Result<()> {
    if let Some(old) = old {
        let owner = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Only root may; other users own what they can restore, or own it afterwards.
        rustix::fs::fchown(file, Some(owner.0), Some(owner.1)).ok();
    }
    match mode {
        Some(mode) => Ok(rustix::fs::fchmod(file, raw_mode(mode))?),
        None => Ok(()),
    }
}

fn raw_mode(mode: u32) -> Mode {
    #[cfg_attr(
        any(target_os = "linux", target_os = "android"),
        expect(
            clippy::useless_conversion,
            reason = "the type differs between systems"
        )
    )]
    Mode::from_raw_mode(mode.try_into().unwrap_or_default())
}

/// Sets the mode of a directory that may be open without permission to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_mode(directory: &OwnedFd, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok(rustix::fs::chmod(path, mode)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn set_mode(directory: &OwnedFd, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::fchmod(directory, mode)?)
}
