//! Which directories must be listed again: those whose entries have changed, or all of them if rules that exclude files have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::GIT;
use super::walk::{MAX_FILES, RECENT, Stamp, changed, list};

/// Files with rules in a directory.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// If more directories have changed, all are listed, by several threads.
const MAX_CHANGED: usize = 64;

/// What the entries of a directory and its rules depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listing {
    modified: Option<SystemTime>,
    /// Changes also when a program restores the time above.
    changed: (i64, i64, u64),
    rules: [Option<Stamp>; 2],
}

/// The directories of a scan.
#[derive(Debug)]
pub(super) struct Directories {
    /// `None` if a directory has changed so shortly before the scan that it may change again without a different time.
    listings: BTreeMap<PathBuf, Option<Listing>>,
    /// Rules that are elsewhere.
    outer_rules: Vec<Option<Stamp>>,
}

impl Directories {
    /// Returns the root and the directories that a scan has found, which started at a time.
    pub(super) fn of(root: &Path, found: &[(PathBuf, Stamp)], started: SystemTime) -> Self {
        let mut directories = Self {
            listings: BTreeMap::new(),
            outer_rules: outer_rules(root),
        };
        directories.add(root, started);
        for (path, stamp) in found {
            if stamp.is_directory {
                directories.add(path, started);
            }
        }
        directories
    }

    /// Makes the next scan list everything.
    pub(super) fn forget(&mut self) {
        self.outer_rules.clear();
    }

    fn add(&mut self, directory: &Path, started: SystemTime) {
        let is_settled = |listing: &Listing| {
            let age = listing
                .modified
                .and_then(|modified| started.duration_since(modified).ok());
            age.is_some_and(|age| age > RECENT)
        };
        let listing = Listing::of(directory).filter(is_settled);
        self.listings.insert(directory.to_owned(), listing);
    }

    /// Lists the directories that have changed, with all that is in new ones. Returns `None` if everything must be listed.
    pub(super) fn list_changed(
        &mut self,
        root: &Path,
        started: SystemTime,
    ) -> Option<Vec<(PathBuf, Stamp)>> {
        if outer_rules(root) != self.outer_rules {
            return None;
        }
        let mut stale = Vec::new();
        let mut gone: Vec<PathBuf> = Vec::new();
        for (path, known) in &self.listings {
            let Some(listing) = Listing::of(path) else {
                // Parents come first.
                if !gone.last().is_some_and(|gone| path.starts_with(gone)) {
                    gone.push(path.clone());
                }
                continue;
            };
            let Some(known) = known else {
                stale.push(path.clone());
                continue;
            };
            if listing.rules != known.rules {
                return None;
            }
            if listing != *known {
                stale.push(path.clone());
            }
        }
        if stale.len() > MAX_CHANGED {
            return None;
        }
        if !gone.is_empty() {
            // Below a directory that became a link there are others.
            let is_gone = |path: &Path| gone.iter().any(|gone| path.starts_with(gone));
            self.listings.retain(|path, _| !is_gone(path));
            stale.retain(|path| !is_gone(path));
        }
        let mut found = Vec::new();
        for directory in stale {
            self.add(&directory, started);
            for (path, stamp) in list(&directory, Some(1), started) {
                if stamp.is_directory && !self.listings.contains_key(&path) {
                    let below = list(&path, None, started);
                    self.add(&path, started);
                    for (path, _) in below.iter().filter(|(_, stamp)| stamp.is_directory) {
                        self.add(path, started);
                    }
                    found.extend(below);
                }
                found.push((path, stamp));
            }
            if found.len() > MAX_FILES {
                return None;
            }
        }
        Some(found)
    }
}

impl Listing {
    /// Returns `None` if there is no directory.
    fn of(directory: &Path) -> Option<Self> {
        let metadata = directory.symlink_metadata().ok()?;
        metadata.is_dir().then(|| Self {
            modified: metadata.modified().ok(),
            changed: changed(&metadata),
            rules: RULES.map(|name| stamp(&directory.join(name))),
        })
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = path.symlink_metadata().ok()?;
    // Whether it is recent does not matter: a change of the time is compared.
    Some(Stamp::of(&metadata, SystemTime::UNIX_EPOCH))
}

/// Examines the rules of the directories above, of the repositories, and of the user.
fn outer_rules(root: &Path) -> Vec<Option<Stamp>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in root.ancestors() {
        files.extend(RULES.map(|name| directory.join(name)));
        files.push(directory.join(GIT).join("info/exclude"));
    }
    files.extend(ignore::gitignore::gitconfig_excludes_path());
    files.iter().map(|file| stamp(file)).collect()
}
