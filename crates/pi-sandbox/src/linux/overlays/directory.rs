//! Directories by descriptor: nothing that is renamed or replaced by a link meanwhile leads elsewhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, XattrFlags,
};
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

    /// Removes a directory with everything in it, files of its own last. Directories in it are moved up one by one, because
    /// they may be nested deeper than a path or the stack can be.
    pub(super) fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        let base = self.open_readable(name)?;
        let mut files = Vec::new();
        let mut directories = Vec::new();
        for child in base.names()? {
            match base.status(&child)? {
                Some(status) if status.is_directory() => directories.push(child),
                Some(_) => files.push(child),
                None => {}
            }
        }
        let mut moved = 0_u64;
        while let Some(emptied) = directories.pop() {
            let directory = base.open_readable(&emptied)?;
            for child in directory.names()? {
                let is_directory = directory
                    .status(&child)?
                    .is_some_and(|it| it.is_directory());
                if !is_directory {
                    directory
                        .writable(|| rustix::fs::unlinkat(&directory, &child, AtFlags::empty()))?;
                    continue;
                }
                let name = OsString::from(format!("removed-{moved}"));
                moved += 1;
                // A directory that is moved must be writable, too.
                rustix::fs::chmodat(&directory, &child, Mode::RWXU, AtFlags::empty())?;
                directory.writable(|| rustix::fs::renameat(&directory, &child, &base, &name))?;
                directories.push(name);
            }
            rustix::fs::unlinkat(&base, &emptied, AtFlags::REMOVEDIR)?;
        }
        for file in files {
            rustix::fs::unlinkat(&base, &file, AtFlags::empty())?;
        }
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Changes this directory, which the user may have made unwritable.
    fn writable(&self, change: impl Fn() -> Result<(), Errno>) -> io::Result<()> {
        match change() {
            Err(Errno::ACCESS) => {
                rustix::fs::fchmod(&self.0, Mode::RWXU)?;
                Ok(change()?)
            }
            changed => Ok(changed?),
        }
    }
}

/// Attributes with access control lists.
const ACCESS_LISTS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

/// Returns the attributes of a file or directory, except for those of the system and of the overlay file system.
pub(super) fn attributes(of: impl AsFd) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let list = read_attribute(|buffer| rustix::fs::flistxattr(&of, buffer))?;
    let mut attributes = BTreeMap::new();
    for name in list.split(|byte| *byte == 0) {
        let is_of_user = name.starts_with(b"user.") && !name.starts_with(OVERLAY_ATTRIBUTES);
        if is_of_user || ACCESS_LISTS.contains(&name) {
            let value = read_attribute(|buffer| rustix::fs::fgetxattr(&of, name, buffer))?;
            attributes.insert(name.to_owned(), value);
        }
    }
    Ok(attributes)
}

/// Gives a file or directory the attributes of another one.
pub(super) fn copy_attributes(from: impl AsFd, to: impl AsFd) -> io::Result<()> {
    let current = attributes(&to)?;
    for (name, value) in attributes(from)? {
        if current.get(&name) == Some(&value) {
            continue;
        }
        match rustix::fs::fsetxattr(&to, name.as_slice(), &value, XattrFlags::empty()) {
            // The file system of the workspace has none.
            Ok(()) | Err(Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads a value whose size is not known.
fn read_attribute(
    mut read: impl FnMut(&mut Vec<u8>) -> Result<usize, Errno>,
) -> io::Result<Vec<u8>> {
    /// The limit of Linux.
    const MAX_BYTES: usize = 64 * 1024;
    let mut value = vec![0; MAX_BYTES];
    let length = match read(&mut value) {
        Ok(length) => length,
        // Also if another process has removed it.
        Err(Errno::NOTSUP | Errno::NODATA) => 0,
        Err(error) => return Err(error.into()),
    };
    value.truncate(length);
    Ok(value)
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

    /// Whether this entry of an overlay marks a deleted one.
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
