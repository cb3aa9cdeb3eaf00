//! [`WorkTree`]: finds what a shell command has changed, by comparing the directory before and after it.
//!
//! A scan reads the metadata of all files that `.gitignore` does not exclude; contents are read only of files whose
//! metadata differs from the last scan. Directories are listed again only if they have changed. The first scan needs the
//! contents of all files: what git has is taken from git when a file changes, the rest is copied to the history.

mod git;
mod known_files;
mod listing;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::content_store::ContentId;
use crate::file_state::{CapturedFile, FileState, MAX_FILE_BYTES};
use crate::history::{ChangeCause, FileHistory, Position};
use git::{GitContents, GitId};
use known_files::stamps;
use listing::Directories;
use walk::{Stamp, walk};

/// A directory whose changes are found by scans.
#[derive(Debug)]
pub struct WorkTree {
    root: PathBuf,
    /// `None` before the first scan.
    last: Option<LastScan>,
    /// The directory has too many files.
    has_failed: bool,
}

#[derive(Debug)]
struct LastScan {
    started: SystemTime,
    known: BTreeMap<PathBuf, KnownFile>,
    directories: Directories,
    /// Whether the directory was a git repository, whose rules exclude files.
    is_repository: bool,
}

#[derive(Debug, Clone)]
struct KnownFile {
    stamp: Stamp,
    content: KnownContent,
}

#[derive(Debug, Clone)]
enum KnownContent {
    State(FileState),
    /// The file is what git has under this ID.
    Git(GitId),
}

impl WorkTree {
    /// `root` is a real path.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            last: None,
            has_failed: false,
        }
    }

    /// Finds what has changed since the last scan and records what the history does not know yet. Returns the number of
    /// changes; the first scan records none. A directory that cannot be scanned is an error once.
    pub fn scan(
        &mut self,
        history: &mut FileHistory,
        at: &Position<'_>,
        cause: ChangeCause<'_>,
    ) -> io::Result<usize> {
        if self.has_failed {
            return Ok(0);
        }
        history.refresh()?;
        let started = SystemTime::now();
        let is_repository = self.root.join(GIT).exists();
        let Some(mut last) = self.last.take() else {
            let found = self.walk()?;
            self.last = Some(LastScan {
                started,
                directories: Directories::of(&self.root, &found, started),
                known: self.first_sight(found, history)?,
                is_repository,
            });
            return Ok(0);
        };
        let mut changed = match last.quick_changes(&self.root, started, is_repository) {
            Some(changed) => changed,
            None => last.changes(self.walk()?, &self.root, started),
        };
        let have_rules_changed = is_repository != last.is_repository
            || changed.iter().any(|(path, _)| is_ignore_file(path));
        // Directories before what is in them.
        pi_protocol::sort_by(&mut changed, |(one, _), (other, _)| one.cmp(other));
        let mut git = GitContents::new(&self.root);
        let mut count = 0;
        let record_all = || {
            for (path, stamp) in changed {
                let after = match CapturedFile::read(&path) {
                    Ok(after) => after,
                    // Its directory cannot be searched: the next scan examines it again.
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                    Err(error) => return Err(error),
                };
                let is_revealed = have_rules_changed && last.is_revealed(&path, stamp.as_ref());
                if !is_revealed && history.left(&path) != Some(&after.state) {
                    let before = last.before(&path, history, &mut git)?;
                    if before.state.is_same(&after.state) {
                        last.renew(&path, stamp);
                        continue;
                    }
                    history.record(at, cause, &path, &before, &after)?;
                    count += 1;
                }
                last.learn(path, stamp, after.state);
            }
            Ok(count)
        };
        let recorded = record_all();
        if recorded.is_err() {
            // What was found and not recorded must be found again.
            last.directories.forget();
        }
        last.started = started;
        last.is_repository = is_repository;
        self.last = Some(last);
        recorded
    }

    fn walk(&mut self) -> io::Result<Vec<(PathBuf, Stamp)>> {
        walk(&self.root).inspect_err(|_| self.has_failed = true)
    }

    /// Copies what git does not have, up to half of what the history may store.
    fn first_sight(
        &self,
        found: Vec<(PathBuf, Stamp)>,
        history: &mut FileHistory,
    ) -> io::Result<BTreeMap<PathBuf, KnownFile>> {
        let mut tracked = git::clean_files(&self.root);
        let mut budget = history.store.max_bytes() / 2;
        let mut known = BTreeMap::new();
        let mut kept: HashSet<ContentId> = HashSet::new();
        for (path, stamp) in found {
            let content = match tracked.remove(&path) {
                Some(id) if stamp.size <= MAX_FILE_BYTES => KnownContent::Git(id),
                _ if stamp.size > budget => KnownContent::State(FileState::Other),
                _ => {
                    let captured = CapturedFile::read(&path);
                    let captured = captured.unwrap_or_else(|_| FileState::Other.into());
                    if let Some(contents) = &captured.contents {
                        budget = budget.saturating_sub(contents.len() as u64);
                        history.store.put(contents)?;
                        kept.extend(captured.state.content().cloned());
                    }
                    KnownContent::State(captured.state)
                }
            };
            known.insert(path, KnownFile { stamp, content });
        }
        history.remove_unused(&kept)?;
        Ok(known)
    }
}

impl LastScan {
    /// Whether a file was there before, but excluded: the command that makes it visible has not created it, so it must not be
    /// deleted.
    fn is_revealed(&self, path: &Path, stamp: Option<&Stamp>) -> bool {
        let was_there = |stamp: &Stamp| {
            stamp.is_older_than(self.started) || was_created_before(path, self.started)
        };
        !self.known.contains_key(path) && stamp.is_some_and(was_there)
    }

    fn before(
        &self,
        path: &Path,
        history: &FileHistory,
        git: &mut GitContents<'_>,
    ) -> io::Result<CapturedFile> {
        match self.known.get(path) {
            Some(file) => file.before(history, git),
            None => Ok(FileState::Missing.into()),
        }
    }

    fn learn(&mut self, path: PathBuf, stamp: Option<Stamp>, state: FileState) {
        if let Some(stamp) = stamp {
            let content = KnownContent::State(state);
            self.known.insert(path, KnownFile { stamp, content });
        } else {
            self.known.remove(&path);
        }
    }

    /// Notes new metadata of a file that is what it was. Where its contents are stored stays known: nothing else has
    /// stored them.
    fn renew(&mut self, path: &Path, stamp: Option<Stamp>) {
        if let (Some(file), Some(stamp)) = (self.known.get_mut(path), stamp) {
            file.stamp = stamp;
        }
    }

    /// Returns the changes since, by examining what is known and the directories that have changed; `None` if all of them must
    /// be listed.
    fn quick_changes(
        &mut self,
        root: &Path,
        now: SystemTime,
        is_repository: bool,
    ) -> Option<Vec<(PathBuf, Option<Stamp>)>> {
        if is_repository != self.is_repository {
            return None;
        }
        let listed = self.directories.list_changed(root, now)?;
        let known: Vec<(&PathBuf, &KnownFile)> = self.known.iter().collect();
        let mut stamps = stamps(&known, now);
        // A directory that became a link leads to other files.
        let mut gone: Option<&Path> = None;
        for ((path, file), stamp) in known.iter().zip(&mut stamps) {
            if gone.is_some_and(|gone| path.starts_with(gone)) {
                *stamp = None;
            } else if file.stamp.is_directory && !stamp.is_some_and(|stamp| stamp.is_directory) {
                gone = Some(path);
            }
        }
        let mut changed: Vec<(PathBuf, Option<Stamp>)> = known
            .iter()
            .zip(stamps)
            .filter(|((_, file), stamp)| !file.is_unchanged(stamp.as_ref()))
            .map(|((path, _), stamp)| ((*path).clone(), stamp))
            .collect();
        if changed.iter().any(|(path, _)| is_ignore_file(path)) {
            return None;
        }
        let new = listed
            .into_iter()
            .filter(|(path, _)| !self.known.contains_key(path));
        changed.extend(new.map(|(path, stamp)| (path, Some(stamp))));
        if changed.iter().any(|(path, _)| is_ignore_file(path)) {
            return None;
        }
        Some(changed)
    }

    /// Returns the changes since, given all that is there now.
    fn changes(
        &mut self,
        found: Vec<(PathBuf, Stamp)>,
        root: &Path,
        now: SystemTime,
    ) -> Vec<(PathBuf, Option<Stamp>)> {
        self.directories = Directories::of(root, &found, now);
        let paths: HashSet<&PathBuf> = found.iter().map(|(path, _)| path).collect();
        let gone = self.known.keys().filter(|path| !paths.contains(path));
        let mut changed: Vec<_> = gone.map(|path| (path.clone(), None)).collect();
        drop(paths);
        let is_changed = |(path, stamp): &(PathBuf, Stamp)| {
            !self
                .known
                .get(path)
                .is_some_and(|file| file.is_unchanged(Some(stamp)))
        };
        let found = found.into_iter().filter(is_changed);
        changed.extend(found.map(|(path, stamp)| (path, Some(stamp))));
        changed
    }
}

impl KnownFile {
    fn is_unchanged(&self, stamp: Option<&Stamp>) -> bool {
        stamp.is_some_and(|stamp| self.stamp == *stamp && !stamp.is_recent)
    }

    /// Returns what the file was, with the contents that the history does not have.
    fn before(&self, history: &FileHistory, git: &mut GitContents<'_>) -> io::Result<CapturedFile> {
        Ok(match &self.content {
            KnownContent::State(state) => CapturedFile {
                contents: match state.content() {
                    Some(id) => history.content(id)?,
                    None => None,
                },
                state: state.clone(),
            },
            // Line endings make a file differ from what git stores, and its size.
            KnownContent::Git(id) => match git.read(id, self.stamp.size) {
                Some(contents) => CapturedFile::file(contents, self.stamp.mode),
                None => FileState::Other.into(),
            },
        })
    }
}

/// Whether a file existed at a moment, whatever it contained; false if the file system does not know.
fn was_created_before(path: &Path, moment: SystemTime) -> bool {
    let metadata = path.symlink_metadata();
    let created = metadata.and_then(|metadata| metadata.created());
    created.is_ok_and(|created| created <= moment)
}

/// Name of the directory with git's own files.
const GIT: &str = ".git";

/// Returns whether a file decides which files are excluded.
fn is_ignore_file(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name == ".gitignore" || name == ".ignore")
}
