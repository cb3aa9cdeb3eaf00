//! Directories by descriptor: nothing that is renamed or replaced by a link meanwhile leads elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec};
use rustix::io::Errno;

/// Start of the names of attributes that the overlay file system uses.
const OVERLAY_ATTRIBUTES: &[u8] = b"user.overlay.";

const OPAQUE: &str = "user.overlay.opaque";

pub(super) struct Directory(OwnedFd);

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Directory {
    pub(super) fn open_path(path: &Path) -> io::Result<Self> {
        let resolve = ResolveFlags::NO_SYMLINKS;
        let opened = rustix::fs::openat2(CWD, path, FLAGS, Mode::empty(), resolve)?;
        Ok(Self(opened))
    }

    /// Opens a directory below this one, without following links.
    pub(super) fn open_below(&self, relative: &Path) -> io::Result<Self> {
        let path = if relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            relative
        };
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        loop {
            match rustix::fs::openat2(&self.0, path, FLAGS, Mode::empty(), resolve) {
                // Something was renamed meanwhile.
                Err(Errno::AGAIN) => {}
                opened => return Ok(Self(opened?)),
            }
        }
    }

    /// Opens a directory that the user may have made unreadable, and makes it readable then.
    pub(super) fn open_readable(&self, name: &OsStr) -> io::Result<Self> {
        let open = || rustix::fs::openat(&self.0, name, FLAGS, Mode::empty());
        match open() {
            Err(Errno::ACCESS) => {
                rustix::fs::chmodat(&self.0, name, Mode::RWXU, AtFlags::empty())?;
                Ok(Self(open()?))
            }
            opened => Ok(Self(opened?)),
        }
    }

    /// Returns the sorted names of the entries.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_bytes().to_owned();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns what an entry is, without following a link.
    pub(super) fn status(&self, name: &OsStr) -> io::Result<Option<FileStatus>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileStatus(stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether this directory of an overlay hides the one below it.
    pub(super) fn is_opaque(&self) -> bool {
        let mut value = [0_u8; 1];
        let read = rustix::fs::fgetxattr(&self.0, OPAQUE, &mut value);
        read.is_ok_and(|length| length == 1) && value == *b"y"
    }

    /// Removes the attributes with which the overlay file system marks a file.
    pub(super) fn remove_overlay_attributes(&self, name: &OsStr) -> io::Result<()> {
        let path = self.path_of(name);
        let mut list = vec![0_u8; 4096];
        let length = match rustix::fs::llistxattr(&path, &mut list) {
            Ok(length) => length,
            Err(Errno::NOTSUP) => 0,
            Err(error) => return Err(error.into()),
        };
        list.truncate(length);
        for attribute in list.split(|byte| *byte == 0) {
            if attribute.starts_with(OVERLAY_ATTRIBUTES) {
                rustix::fs::lremovexattr(&path, attribute)?;
            }
        }
        Ok(())
    }

    /// Returns a path of an entry that stays valid if the directory is moved.
    fn path_of(&self, name: &OsStr) -> PathBuf {
        Path::new("/proc/self/fd")
            .join(self.0.as_raw_fd().to_string())
            .join(name)
    }

    /// Removes an entry with everything below it.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match self.status(name)? {
            None => return Ok(()),
            Some(status) if status.is_directory() => {
                let directory = self.open_readable(name)?;
                for child in directory.names()? {
                    match directory.remove(&child) {
                        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                            rustix::fs::fchmod(&directory, Mode::RWXU)?;
                            directory.remove(&child)?;
                        }
                        removed => removed?,
                    }
                }
                rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?;
            }
            Some(_) => rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?,
        }
        Ok(())
    }
}

/// What an entry of a directory is.
#[derive(Clone, Copy)]
pub(super) struct FileStatus(pub(super) Stat);

impl FileStatus {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// Whether this entry of an overlay stands for a deleted one.
    pub(super) fn is_whiteout(&self) -> bool {
        self.kind() == FileType::CharacterDevice && self.0.st_rdev == 0
    }

    pub(super) fn mode(&self) -> Mode {
        Mode::from_raw_mode(self.0.st_mode & 0o7777)
    }

    pub(super) fn modified(&self) -> Timespec {
        time(self.0.st_mtime, self.0.st_mtime_nsec)
    }

    /// When the entry was changed in any way.
    pub(super) fn changed(&self) -> Timespec {
        time(self.0.st_ctime, self.0.st_ctime_nsec)
    }

    /// Whether owner and permissions are the same.
    pub(super) fn has_same_owner_and_mode(&self, other: &Self) -> bool {
        let of = |status: &Self| (status.0.st_mode, status.0.st_uid, status.0.st_gid);
        of(self) == of(other)
    }

    pub(super) fn has_same_owner(&self, other: &Self) -> bool {
        (self.0.st_uid, self.0.st_gid) == (other.0.st_uid, other.0.st_gid)
    }
}

fn time(seconds: i64, nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    }
}
