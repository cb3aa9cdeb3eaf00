//! [`WorkTree`]: finds what a shell command has changed, by comparing the directory before and after it.
//!
//! A scan reads the metadata of all files that `.gitignore` does not exclude; contents are read only of files whose
//! metadata differs from the last scan. The first scan needs the contents of all of them: what git has is taken from
//! git when a file changes, the rest is copied to the history.

mod git;
mod walk;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::content_store::ContentId;
use crate::file_state::{CapturedFile, FileState};
use crate::history::{ChangeCause, FileHistory, Position};
use git::{GitContents, GitId};
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
    known: HashMap<PathBuf, KnownFile>,
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
        let found = walk(&self.root).inspect_err(|_| self.has_failed = true)?;
        let Some(last) = self.last.take() else {
            self.last = Some(LastScan {
                started,
                known: self.first_sight(found, history)?,
                is_repository,
            });
            return Ok(0);
        };
        let mut count = 0;
        let known = &last.known;
        let mut git = GitContents::new(&self.root);
        let mut next = HashMap::with_capacity(found.len());
        let mut changed = Vec::new();
        for (path, stamp) in found {
            match known.get(&path) {
                Some(file) if file.stamp == stamp && !stamp.is_recent => {
                    next.insert(path, file.clone());
                }
                file => changed.push((path, file, Some(stamp))),
            }
        }
        let have_rules_changed = is_repository != last.is_repository
            || changed.iter().any(|(path, ..)| is_ignore_file(path));
        let seen: HashSet<PathBuf> = changed.iter().map(|(path, ..)| path.clone()).collect();
        let gone = known
            .iter()
            .filter(|(path, _)| !next.contains_key(*path) && !seen.contains(*path));
        let gone: Vec<_> = gone
            .map(|(path, file)| (path.clone(), Some(file), None))
            .collect();
        changed.extend(gone);
        // Directories before what is in them.
        pi_protocol::sort_by(&mut changed, |(one, ..), (other, ..)| one.cmp(other));
        for (path, file, stamp) in changed {
            let after = CapturedFile::read(&path)?;
            let before = match file {
                None => FileState::Missing.into(),
                Some(file) => file.before(history, &mut git)?,
            };
            // A file that was there before is not created by the command that makes it visible: it must not be deleted.
            let is_revealed = file.is_none()
                && have_rules_changed
                && stamp.is_some_and(|stamp| stamp.is_older_than(last.started));
            if let Some(stamp) = stamp {
                let content = KnownContent::State(after.state.clone());
                next.insert(path.clone(), KnownFile { stamp, content });
            }
            if !is_revealed && history.left(&path) != Some(&after.state) {
                history.record(at, cause, &path, &before, &after)?;
                count += 1;
            }
        }
        self.last = Some(LastScan {
            started,
            known: next,
            is_repository,
        });
        Ok(count)
    }

    /// Copies what git does not have, up to half of what the history may store.
    fn first_sight(
        &self,
        found: Vec<(PathBuf, Stamp)>,
        history: &mut FileHistory,
    ) -> io::Result<HashMap<PathBuf, KnownFile>> {
        let mut tracked = git::clean_files(&self.root);
        let mut budget = history.store.max_bytes() / 2;
        let mut known = HashMap::with_capacity(found.len());
        let mut kept: HashSet<ContentId> = HashSet::new();
        for (path, stamp) in found {
            let content = match tracked.remove(&path) {
                Some(id) => KnownContent::Git(id),
                None if stamp.size > budget => KnownContent::State(FileState::Other),
                None => {
                    let captured = CapturedFile::read(&path)?;
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

impl KnownFile {
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
            KnownContent::Git(id) => match git.read(id) {
                // Filters and line endings make a file differ from what git stores.
                Some(contents) if contents.len() as u64 == self.stamp.size => {
                    CapturedFile::file(contents, self.stamp.mode)
                }
                _ => FileState::Other.into(),
            },
        })
    }
}

/// Name of the directory with git's own files.
const GIT: &str = ".git";

/// Returns whether a file decides which files are excluded.
fn is_ignore_file(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name == ".gitignore" || name == ".ignore")
}
