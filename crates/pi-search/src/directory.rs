//! The files of an index: names, permissions, the lock of the process that updates.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_fs::atomic_file::{Durability, FileReplacement};
use pi_fs::file_lock::{self, LockState};
use pi_fs::{NewFileMode, private};

use crate::error::SearchError;

const MANIFEST: &str = "manifest";
const LOCK: &str = "lock";
const SEGMENT_EXTENSION: &str = "segment";

/// Files that no manifest lists may belong to another process on a file system without locks.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// Checksums detect what a crash leaves, so nothing is synced.
const REPLACEMENT: FileReplacement = FileReplacement {
    durability: Durability::Cache,
    ..FileReplacement::durable(NewFileMode::AlwaysPrivate)
};

#[derive(Debug, Clone)]
pub(crate) struct IndexDirectory {
    path: PathBuf,
    #[cfg(test)]
    pub(crate) crash: std::rc::Rc<tests::Crash>,
}

/// Held while an index is updated.
#[derive(Debug)]
pub(crate) struct UpdateLock(#[expect(dead_code, reason = "holds the lock")] File);

impl IndexDirectory {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            #[cfg(test)]
            crash: std::rc::Rc::default(),
        }
    }

    /// Creates the directory, or refuses one that others may control.
    pub(crate) fn claim(&self) -> Result<(), SearchError> {
        private::claim_directory(&self.path).map_err(|source| SearchError::Refused {
            path: self.path.clone(),
            source,
        })
    }

    /// Returns the lock unless another process updates the index.
    pub(crate) fn lock(&self) -> Result<Option<UpdateLock>, SearchError> {
        let path = self.path.join(LOCK);
        let file = private::open_or_create(&path).map_err(|error| self.error(error))?;
        match file_lock::try_lock(&file, &path) {
            LockState::HeldElsewhere => Ok(None),
            LockState::Acquired | LockState::Unsupported => Ok(Some(UpdateLock(file))),
        }
    }

    pub(crate) fn read_manifest(&self) -> Result<Option<Vec<u8>>, SearchError> {
        match fs::read(self.path.join(MANIFEST)) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error(error)),
        }
    }

    pub(crate) fn write_manifest(&self, content: &[u8]) -> Result<(), SearchError> {
        self.before_change()?;
        REPLACEMENT
            .run(
                &self.path.join(MANIFEST),
                |file| file.write_all(content),
                |_| Ok(()),
            )
            .map_err(|error| self.error(error))
    }

    pub(crate) fn remove_manifest(&self) -> Result<(), SearchError> {
        match fs::remove_file(self.path.join(MANIFEST)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.error(error)),
            _ => Ok(()),
        }
    }

    /// Writes a segment under a name that is not in use.
    pub(crate) fn write_segment(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        self.before_change()?;
        let mut failure = None;
        let written = REPLACEMENT.run::<io::Error>(
            &self.segment_path(name),
            |file| {
                fill(file).map_err(|error| {
                    failure = Some(error);
                    io::Error::other("the segment is incomplete")
                })
            },
            |_| Ok(()),
        );
        written.map_err(|error| failure.unwrap_or_else(|| self.error(error)))
    }

    pub(crate) fn open_segment(&self, name: &str) -> io::Result<File> {
        File::open(self.segment_path(name))
    }

    /// Removes segments that are not listed. Failures only cost space.
    pub(crate) fn remove_unlisted(&self, listed: &[&str], removable: &[String]) {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let file_name = entry.file_name();
            let Some(file_name) = file_name.to_str() else {
                continue;
            };
            if file_name == MANIFEST || file_name == LOCK {
                continue;
            }
            let name = file_name.strip_suffix(&format!(".{SEGMENT_EXTENSION}"));
            if name.is_some_and(|name| listed.contains(&name)) {
                continue;
            }
            let is_ours = name.is_some_and(|name| removable.iter().any(|it| it == name));
            if (is_ours || is_abandoned(&path)) && self.before_change().is_ok() {
                fs::remove_file(&path).ok();
            }
        }
    }

    fn segment_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.{SEGMENT_EXTENSION}"))
    }

    pub(crate) fn error(&self, source: io::Error) -> SearchError {
        SearchError::Io {
            path: self.path.clone(),
            source,
        }
    }

    #[cfg(not(test))]
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "tests stop here"
    )]
    fn before_change(&self) -> Result<(), SearchError> {
        Ok(())
    }
}

fn is_abandoned(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    let age = modified.map(|modified| SystemTime::now().duration_since(modified));
    matches!(age, Ok(Ok(age)) if age > ABANDONED_AFTER)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Stops all changes after a number of them, as if the process were killed.
    #[derive(Debug, Default)]
    pub(crate) struct Crash {
        pub(crate) changes_left: Cell<Option<usize>>,
    }

    impl IndexDirectory {
        pub(super) fn before_change(&self) -> Result<(), SearchError> {
            match self.crash.changes_left.get() {
                None => Ok(()),
                Some(0) => Err(self.error(io::Error::other("killed"))),
                Some(left) => {
                    self.crash.changes_left.set(Some(left - 1));
                    Ok(())
                }
            }
        }
    }

    #[test]
    fn a_directory_of_others_is_refused_and_an_open_one_becomes_private() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("elsewhere");
        fs::create_dir(&target).unwrap();
        let link = home.path().join("link");
        symlink(&target, &link).unwrap();
        let refused = IndexDirectory::new(&link).claim();
        assert!(matches!(refused, Err(SearchError::Refused { .. })));

        fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
        IndexDirectory::new(&target).claim().unwrap();
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);

        // Only root can give a directory away.
        if std::os::unix::fs::chown(&target, Some(12345), None).is_ok() {
            let refused = IndexDirectory::new(&target).claim();
            assert!(matches!(refused, Err(SearchError::Refused { .. })));
        }
    }

    #[test]
    fn one_process_updates() {
        let home = tempfile::tempdir().unwrap();
        let directory = IndexDirectory::new(home.path());
        let held = directory.lock().unwrap();
        assert!(held.is_some());
        assert!(directory.lock().unwrap().is_none());
        drop(held);
        assert!(directory.lock().unwrap().is_some());
    }
}
