//! Finds all files of a directory with their metadata, by several threads.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use super::GIT;
use crate::file_state::mode;

/// A scan of more files would delay every command.
pub(super) const MAX_FILES: usize = 200_000;

/// A file that changed shortly before the scan may change again without a different time stamp.
pub(super) const RECENT: Duration = Duration::from_millis(50);

/// What identifies the contents of a file without reading them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    pub(super) mode: Option<u32>,
    modified: Option<SystemTime>,
    /// Seconds, nanoseconds and inode; zero on systems without them.
    changed: (i64, i64, u64),
    /// The file changed just before the scan.
    pub(super) is_recent: bool,
    pub(super) is_directory: bool,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata, now: SystemTime) -> Self {
        let file = FileMetadata {
            size: metadata.len(),
            mode: mode(metadata),
            modified: metadata.modified().ok(),
            changed: changed(metadata),
            is_directory: metadata.is_dir(),
        };
        file.stamp(now)
    }

    /// Whether the file is older than a moment; false for directories.
    pub(super) fn is_older_than(&self, moment: SystemTime) -> bool {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH);
        let since = since.unwrap_or_default();
        let (seconds, nanoseconds, _) = self.changed;
        let changed = (
            u64::try_from(seconds).unwrap_or_default(),
            u32::try_from(nanoseconds).unwrap_or_default(),
        );
        changed.0 != 0 && changed <= (since.as_secs(), since.subsec_nanos())
    }
}

/// The metadata that a stamp consists of.
pub(super) struct FileMetadata {
    pub(super) size: u64,
    pub(super) mode: Option<u32>,
    pub(super) modified: Option<SystemTime>,
    pub(super) changed: (i64, i64, u64),
    pub(super) is_directory: bool,
}

impl FileMetadata {
    pub(super) fn stamp(self, now: SystemTime) -> Stamp {
        if self.is_directory {
            // It changes with its files, which have stamps themselves.
            return Stamp {
                size: 0,
                mode: self.mode,
                modified: None,
                changed: (0, 0, 0),
                is_recent: false,
                is_directory: true,
            };
        }
        let age = self
            .modified
            .map(|modified| now.duration_since(modified).unwrap_or_default());
        Stamp {
            size: self.size,
            mode: self.mode,
            modified: self.modified,
            changed: self.changed,
            is_recent: age.is_none_or(|age| age < RECENT),
            is_directory: false,
        }
    }
}

#[cfg(unix)]
pub(super) fn changed(metadata: &Metadata) -> (i64, i64, u64) {
    use std::os::unix::fs::MetadataExt as _;

    (metadata.ctime(), metadata.ctime_nsec(), metadata.ino())
}

#[cfg(not(unix))]
pub(super) fn changed(_metadata: &Metadata) -> (i64, i64, u64) {
    (0, 0, 0)
}

/// Lists what is directly in a directory, or everything below it, like [`walk`].
pub(super) fn list(
    directory: &Path,
    depth: Option<usize>,
    now: SystemTime,
) -> Vec<(PathBuf, Stamp)> {
    let entries = builder(directory).max_depth(depth).build().flatten();
    let stamps = entries.filter_map(|entry| Some((stamp(&entry, now)?, entry)));
    stamps
        .map(|(stamp, entry)| (entry.into_path(), stamp))
        .collect()
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .parents(true)
        .follow_links(false)
        .require_git(true)
        .filter_entry(|entry| entry.file_name() != GIT);
    builder
}

/// Lists files, links and directories, without those that `.gitignore` excludes and without git's own.
pub(super) fn walk(root: &Path) -> io::Result<Vec<(PathBuf, Stamp)>> {
    let now = SystemTime::now();
    let found = Mutex::new(Vec::new());
    let builder = builder(root);
    builder.build_parallel().run(|| {
        let mut batch = Batch {
            files: Vec::new(),
            found: &found,
        };
        Box::new(move |entry| {
            // Files that vanish during the walk, and directories that cannot be read, have no stamp.
            if let Ok(entry) = entry
                && let Some(stamp) = stamp(&entry, now)
            {
                batch.files.push((entry.into_path(), stamp));
            }
            if batch.files.len() > MAX_FILES {
                return WalkState::Quit;
            }
            WalkState::Continue
        })
    });
    let found = found.into_inner();
    if found.len() > MAX_FILES {
        let message = format!("{} has more than {MAX_FILES} files", root.display());
        return Err(io::Error::other(message));
    }
    Ok(found)
}

fn stamp(entry: &DirEntry, now: SystemTime) -> Option<Stamp> {
    // The root itself does not change.
    if entry.depth() == 0 {
        return None;
    }
    Some(Stamp::of(&entry.metadata().ok()?, now))
}

/// The files of one thread, added to those of the others when it ends.
struct Batch<'walk> {
    files: Vec<(PathBuf, Stamp)>,
    found: &'walk Mutex<Vec<(PathBuf, Stamp)>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut found = self.found.lock();
        found.append(&mut self.files);
    }
}
