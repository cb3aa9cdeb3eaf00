//! The metadata of files that are known already, read by several threads.

use std::path::PathBuf;
use std::time::SystemTime;

use super::walk::Stamp;

/// Files that one thread examines at least: fewer are not worth another thread.
const FILES_PER_THREAD: usize = 2000;

/// Examines known paths, which are sorted; `None` for those that are gone.
pub(super) fn stamps<File: Sync>(
    known: &[(&PathBuf, File)],
    now: SystemTime,
) -> Vec<Option<Stamp>> {
    let examine = |known: &[(&PathBuf, File)]| -> Vec<Option<Stamp>> {
        let mut reader = MetadataReader::default();
        let stamps = known.iter().map(|(path, _)| reader.stamp(path, now));
        stamps.collect()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = known.len().div_ceil(threads).max(FILES_PER_THREAD);
    if known.len() <= size {
        return examine(known);
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = known
            .chunks(size)
            .map(|part| (part, scope.spawn(|| examine(part))))
            .collect();
        let stamps = parts.into_iter().flat_map(|(part, thread)| {
            // A thread that panicked has examined nothing.
            thread.join().unwrap_or_else(|_| examine(part))
        });
        stamps.collect()
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
use linux::MetadataReader;

/// Files are examined relative to their directory, which takes a quarter less time than by their whole path.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::ffi::OsStr;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

    use super::super::walk::{FileMetadata, Stamp};

    /// Directories that are open at the same time.
    const MAX_DEPTH: usize = 32;

    const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// Reads metadata of sorted paths.
    #[derive(Default)]
    pub(super) struct MetadataReader<'paths> {
        /// The directory of the last path, and those above it that are needed again.
        directories: Vec<(&'paths Path, OwnedFd)>,
    }

    impl<'paths> MetadataReader<'paths> {
        pub(super) fn stamp(&mut self, path: &'paths Path, now: SystemTime) -> Option<Stamp> {
            let (parent, name) = split(path)?;
            match self.directory(parent) {
                Some(directory) => {
                    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                    Some(metadata(&found.ok()?).stamp(now))
                }
                None => Some(Stamp::of(&path.symlink_metadata().ok()?, now)),
            }
        }

        /// Opens a directory; `None` if that fails or too many are open.
        fn directory(&mut self, wanted: &'paths Path) -> Option<&OwnedFd> {
            // Cheaper than to compare components.
            let is_wanted = |path: &Path| -> bool {
                let (path, wanted): (&OsStr, &OsStr) = (path.as_os_str(), wanted.as_os_str());
                path == wanted
            };
            while let Some((last, _)) = self.directories.last()
                && !is_wanted(last)
                && !wanted.starts_with(last)
            {
                self.directories.pop();
            }
            let is_open = self
                .directories
                .last()
                .is_some_and(|(last, _)| is_wanted(last));
            if !is_open {
                if self.directories.len() == MAX_DEPTH {
                    return None;
                }
                let opened = rustix::fs::open(wanted, DIRECTORY, Mode::empty()).ok()?;
                self.directories.push((wanted, opened));
            }
            self.directories.last().map(|(_, directory)| directory)
        }
    }

    /// Returns the parent and the name of a path without `.`, `..` and repeated slashes, for which there is no need to look
    /// at each of its components.
    fn split(path: &Path) -> Option<(&Path, &OsStr)> {
        let bytes = path.as_os_str().as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
        let (parent, name) = (bytes.get(..slash.max(1))?, bytes.get(slash + 1..)?);
        Some((
            Path::new(OsStr::from_bytes(parent)),
            OsStr::from_bytes(name),
        ))
    }

    fn metadata(found: &Stat) -> FileMetadata {
        #[expect(
            clippy::useless_conversion,
            reason = "the types differ between architectures"
        )]
        let (seconds, changed) = (i64::from(found.st_mtime), i64::from(found.st_ctime));
        FileMetadata {
            size: u64::try_from(found.st_size).unwrap_or_default(),
            mode: Some(found.st_mode & 0o7777),
            modified: time(seconds, found.st_mtime_nsec),
            changed: (
                changed,
                i64::try_from(found.st_ctime_nsec).unwrap_or_default(),
                found.st_ino,
            ),
            is_directory: FileType::from_raw_mode(found.st_mode) == FileType::Directory,
        }
    }

    fn time(seconds: i64, nanoseconds: u64) -> Option<SystemTime> {
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let whole = if seconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(whole)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(whole)
        };
        whole?.checked_add(Duration::from_nanos(nanoseconds))
    }

    #[cfg(test)]
    mod tests {
        use std::fs;
        use std::os::unix::fs::symlink;
        use std::path::PathBuf;

        use pretty_assertions::assert_eq;

        use super::*;

        #[test]
        fn stamps_are_those_of_the_standard_library() {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            let deep: PathBuf = (0..2 * MAX_DEPTH).map(|_| "d").collect();
            fs::create_dir_all(root.join(&deep)).unwrap();
            for path in ["a", "d/a", "d/d/z", "e"] {
                fs::File::create(root.join(path)).unwrap();
            }
            fs::File::create(root.join(deep.join("x"))).unwrap();
            symlink("missing", root.join("d/link")).unwrap();
            let old = SystemTime::UNIX_EPOCH - Duration::from_millis(1500);
            let file = fs::File::options().write(true).open(root.join("a"));
            file.unwrap().set_modified(old).unwrap();
            let mut paths: Vec<PathBuf> = root
                .join(&deep)
                .ancestors()
                .take_while(|path| *path != root)
                .map(Path::to_owned)
                .collect();
            paths.extend(
                ["a", "d/a", "d/d/z", "d/link", "e", "gone", "gone/x"].map(|name| root.join(name)),
            );
            paths.push(root.join(deep.join("x")));
            paths.sort();
            let now = SystemTime::now();
            let mut reader = MetadataReader::default();
            for path in &paths {
                let expected = path.symlink_metadata().ok();
                let expected = expected.map(|metadata| Stamp::of(&metadata, now));
                assert_eq!(reader.stamp(path, now), expected, "{path:?}");
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[derive(Default)]
struct MetadataReader;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl MetadataReader {
    #[expect(clippy::unused_self, reason = "other systems keep directories open")]
    fn stamp(&mut self, path: &std::path::Path, now: SystemTime) -> Option<Stamp> {
        Some(Stamp::of(&path.symlink_metadata().ok()?, now))
    }
}
