//! Renames with a guarantee about an existing target.

use std::fs;
use std::io;
use std::path::Path;

/// Renames a file or directory; fails if `to` exists.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::RenameFlags;

    match rename_with(from, to, RenameFlags::NOREPLACE) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => rename_if_free(from, to),
        renamed => renamed,
    }
}

/// Renames a file or directory; fails if `to` exists.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    rename_if_free(from, to)
}

/// Fallback with a race: another process may create `to` between the check and the rename.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// Exchanges two files or directories in one step; [`io::ErrorKind::Unsupported`] where that is impossible.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) fn exchange(left: &Path, right: &Path) -> io::Result<()> {
    rename_with(left, right, rustix::fs::RenameFlags::EXCHANGE)
}

/// Exchanges two files or directories in one step; [`io::ErrorKind::Unsupported`] where that is impossible.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn exchange(_left: &Path, _right: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_with(from: &Path, to: &Path, flags: rustix::fs::RenameFlags) -> io::Result<()> {
    use rustix::fs::CWD;
    use rustix::io::Errno;

    match rustix::fs::renameat_with(CWD, from, CWD, to, flags) {
        // The file system does not support the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_target_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| home.path().join(name));
        for rename in [rename_without_replacing, rename_if_free] {
            fs::File::create(&from).unwrap();
            fs::create_dir(&to).unwrap();
            let refused = rename(&from, &to).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            fs::remove_dir(&to).unwrap();
            rename(&from, &to).unwrap();
            assert!(to.is_file() && !from.exists());
            fs::remove_file(&to).unwrap();
        }
    }
}
