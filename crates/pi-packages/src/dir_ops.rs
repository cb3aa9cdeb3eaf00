//! Directories as a whole: copied without their content, put in place of one another, cleared away.
//!
//! What is built here is built beside its place and exchanged with what lies there in one step, so that
//! whoever looks sees the old directory or the new one, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// How a directory under construction begins, beside the place it is for.
const STAGING: &str = ".pi-staging-";

/// How a directory begins that was taken out of its place.
const RETIRED: &str = ".pi-retired-";

/// A directory to build in. Dropping it takes it away with what is in it.
#[derive(Debug)]
pub(crate) struct StagingDir(PathBuf);

impl StagingDir {
    /// Creates a directory to build `name` in, in the directory that will hold it: both lie on the same disk.
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
        clear_away(&self.0);
    }
}

/// Takes away what programs left that were killed while they built `name`. Whoever calls this holds its
/// lock: nothing that is found is still worked on.
pub(crate) fn remove_leftovers(parent: &Path, name: &str) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let found = found.to_string_lossy();
        if found.strip_prefix(RETIRED) == Some(name) {
            // Killed between the two steps of a replacement: the old directory goes back.
            let place = parent.join(name);
            if fs::symlink_metadata(&place).is_ok() || fs::rename(entry.path(), place).is_err() {
                clear_away(&entry.path());
            }
        } else if let Some(staged) = found.strip_prefix(STAGING)
            && staged.split_once('-').is_some_and(|(_, own)| own == name)
        {
            clear_away(&entry.path());
        }
    }
}

/// Puts a directory into a place, and away what lay there.
pub(crate) fn replace_dir(new: &Path, place: &Path) -> io::Result<()> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(new, place);
    }
    match exchange(new, place) {
        Ok(()) => {
            clear_away(new);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => replace(new, place),
        Err(error) => Err(error),
    }
}

/// The next best: for a moment the place is empty. The old directory comes back if the new one cannot be put
/// there.
fn replace(new: &Path, place: &Path) -> io::Result<()> {
    let parent = place.parent().unwrap_or(place);
    let own = place.file_name().unwrap_or_default().to_string_lossy();
    let retired = parent.join(format!("{RETIRED}{own}"));
    fs::rename(place, &retired)?;
    if let Err(error) = fs::rename(new, place) {
        fs::rename(&retired, place)?;
        return Err(error);
    }
    clear_away(&retired);
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(left: &Path, right: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    use rustix::io::Errno;

    match rustix::fs::renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE) {
        // A file system that knows no such move.
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

/// Removes a directory, or says in the log that it could not.
pub(crate) fn clear_away(path: &Path) {
    match fs::remove_dir_all(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %path.display(), "a folder was left behind"),
    }
}

/// Which files of a copy share their content with the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMode {
    /// All: nobody writes into them.
    HardLink,
    Copy,
}

/// Copies a directory; entries directly in it that `skip` names stay behind. Links stay links.
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
            // Not every file system has links between files.
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

/// Creates a symbolic link to a directory, which is what links in `node_modules` lead to.
#[cfg(windows)]
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(target, path)
}

/// Opens a file that nobody else can find and that goes with its handle.
pub(crate) fn unnamed_temp_file(dir: &Path) -> io::Result<File> {
    let path = dir.join(format!("pi-{:032x}", rand::random::<u128>()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    #[cfg(windows)]
    {
        // The file goes when its handle is closed.
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
    fn a_new_dir_takes_the_place_of_the_old_one() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("deep/place");
        for content in ["one", "two"] {
            let staging = StagingDir::create(home.path(), "place").unwrap();
            let new = staging.path().join("new");
            fs::create_dir(&new).unwrap();
            write(&new.join("file"), content);
            replace_dir(&new, &place).unwrap();
            assert_eq!(fs::read_to_string(place.join("file")).unwrap(), content);
        }
        let names: Vec<_> = fs::read_dir(home.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn leftovers_are_swept_and_nothing_else() {
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
    fn copies_keep_links_and_leave_out_what_is_named() {
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
