//! Directory operations: staging, atomic replacement, copying and removal.
//!
//! A directory is built in a staging directory and then exchanged with the existing one in a single step, so
//! readers see either the old or the new directory, even after a crash.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Name prefix of staging directories.
const STAGING: &str = ".pi-staging-";

/// Name prefix of a replaced directory.
const RETIRED: &str = ".pi-retired-";

/// A staging directory, removed on drop.
#[derive(Debug)]
pub(crate) struct StagingDir(PathBuf);

impl StagingDir {
    /// Creates a staging directory for `name` in its parent, so both are on the same file system.
    pub(crate) fn create(parent: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        let path = parent.join(format!("{STAGING}{:016x}-{name}", rand::random::<u64>()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        remove_dir_logged(&self.0);
    }
}

/// Removes leftovers of processes that were killed while building `name`. The caller must hold the lock of
/// `name`, so none of them is in use.
pub(crate) fn remove_leftovers(parent: &Path, name: &str) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let found = found.to_string_lossy();
        if found.strip_prefix(RETIRED) == Some(name) {
            // Killed between the two renames of a replacement: restore the old directory.
            let target = parent.join(name);
            if fs::symlink_metadata(&target).is_ok() || fs::rename(entry.path(), target).is_err() {
                remove_dir_logged(&entry.path());
            }
        } else if let Some(staged) = found.strip_prefix(STAGING)
            && staged.split_once('-').is_some_and(|(_, own)| own == name)
        {
            remove_dir_logged(&entry.path());
        }
    }
}

/// Moves a directory to `target` and removes what was there.
pub(crate) fn replace_dir(new: &Path, target: &Path) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if fs::symlink_metadata(target).is_err() {
        return fs::rename(new, target);
    }
    match exchange(new, target) {
        Ok(()) => {
            remove_dir_logged(new);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => replace(new, target),
        Err(error) => Err(error),
    }
}

/// Fallback that is not atomic: `target` is missing between the two renames. The old directory is restored if
/// the second rename fails.
fn replace(new: &Path, target: &Path) -> io::Result<()> {
    let parent = target.parent().unwrap_or(target);
    let own = target.file_name().unwrap_or_default().to_string_lossy();
    let retired = parent.join(format!("{RETIRED}{own}"));
    fs::rename(target, &retired)?;
    if let Err(error) = fs::rename(new, target) {
        fs::rename(&retired, target)?;
        return Err(error);
    }
    remove_dir_logged(&retired);
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(left: &Path, right: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    use rustix::io::Errno;

    match rustix::fs::renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE) {
        // The file system does not support the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }
        moved => Ok(moved?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_left: &Path, _right: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Removes a directory; a failure is only logged.
pub(crate) fn remove_dir_logged(path: &Path) {
    match fs::remove_dir_all(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %path.display(), "cannot remove directory"),
    }
}

/// How files are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMode {
    /// For files that are never modified.
    HardLink,
    Copy,
}

/// Copies a directory, except top-level entries named in `skip`. Symlinks are preserved.
pub(crate) fn copy_dir(from: &Path, to: &Path, content: CopyMode, skip: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut pending = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !skip.iter().any(|name| entry.file_name() == **name) {
            pending.push((entry.path(), to.join(entry.file_name())));
        }
    }
    while let Some((source, target)) = pending.pop() {
        let kind = fs::symlink_metadata(&source)?.file_type();
        if kind.is_symlink() {
            link(&fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            for entry in fs::read_dir(&source)? {
                let entry = entry?;
                pending.push((entry.path(), target.join(entry.file_name())));
            }
        } else if kind.is_file() {
            // Not every file system supports hard links.
            if content == CopyMode::Copy || fs::hard_link(&source, &target).is_err() {
                fs::copy(&source, &target)?;
            }
        }
    }
    Ok(())
}

/// Creates a symbolic link.
#[cfg(unix)]
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Creates a symbolic link to a directory; links in `node_modules` only point to directories.
#[cfg(windows)]
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(target, path)
}

/// Opens a private temporary file that is deleted when its handle is closed.
pub(crate) fn unnamed_temp_file(dir: &Path) -> io::Result<File> {
    let path = dir.join(format!("pi-{:032x}", rand::random::<u128>()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    #[cfg(windows)]
    {
        const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, FILE_FLAG_DELETE_ON_CLOSE);
    }
    let file = options.open(&path)?;
    #[cfg(unix)]
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn write(path: &Path, content: &str) {
        let mut file = File::create(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
    }

    #[test]
    fn new_directory_replaces_the_old_one() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("deep/place");
        for content in ["one", "two"] {
            let staging = StagingDir::create(home.path(), "place").unwrap();
            let new = staging.path().join("new");
            fs::create_dir(&new).unwrap();
            write(&new.join("file"), content);
            replace_dir(&new, &target).unwrap();
            assert_eq!(fs::read_to_string(target.join("file")).unwrap(), content);
        }
        let names: Vec<_> = fs::read_dir(home.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn only_leftovers_are_removed() {
        let home = tempfile::tempdir().unwrap();
        for name in [
            ".pi-staging-1-x",
            ".pi-staging-2-other-x",
            ".pi-retired-x",
            ".pi-retired-other",
        ] {
            fs::create_dir(home.path().join(name)).unwrap();
        }
        let names = || {
            let entries = fs::read_dir(home.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        remove_leftovers(home.path(), "x");
        assert_eq!(names(), [".pi-retired-other", ".pi-staging-2-other-x", "x"]);
        fs::create_dir(home.path().join(".pi-retired-x")).unwrap();
        remove_leftovers(home.path(), "x");
        assert_eq!(names(), [".pi-retired-other", ".pi-staging-2-other-x", "x"]);
    }

    #[cfg(unix)]
    #[test]
    fn copy_preserves_symlinks_and_skips_named_entries() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        fs::create_dir_all(from.join("sub/node_modules")).unwrap();
        fs::create_dir_all(from.join("node_modules")).unwrap();
        write(&from.join("sub/file"), "x");
        link(Path::new("sub/file"), &from.join("link")).unwrap();
        copy_dir(&from, &to, CopyMode::HardLink, &["node_modules"]).unwrap();
        assert!(to.join("sub/node_modules").is_dir());
        assert!(!to.join("node_modules").exists());
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("sub/file")
        );
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "x");
    }
}
