//! Atomic directory replacement.
//!
//! A directory is built in a staging directory and then exchanged with the existing one in a single step, so
//! readers see either the old or the new directory, even after a crash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::random::random_u64;
use crate::rename::exchange;

/// Name prefix of staging directories.
const STAGING: &str = ".pi-staging-";

/// Name prefix of a replaced directory.
const RETIRED: &str = ".pi-retired-";

/// A staging directory, removed on drop.
#[derive(Debug)]
pub struct StagingDir(PathBuf);

impl StagingDir {
    /// Creates a staging directory for `name` in its parent, so both are on the same file system.
    pub fn create(parent: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        let path = parent.join(format!("{STAGING}{:016x}-{name}", random_u64()?));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
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
pub fn remove_leftovers(parent: &Path, name: &str) {
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
pub fn replace_dir(new: &Path, target: &Path) -> io::Result<()> {
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

/// Removes a directory; a failure is only logged.
pub fn remove_dir_logged(path: &Path) {
    match fs::remove_dir_all(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %path.display(), "cannot remove directory"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
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
}
