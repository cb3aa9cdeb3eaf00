//! [`FileHistory`]: records changes and computes which states paths have at an entry of the session tree.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use pi_protocol::EntryId;

use crate::change_index::{Change, ChangeIndex, ChangeSource};
use crate::content_store::{ContentId, ContentStore};
use crate::file_state::{CapturedFile, FileState};

/// The file history of a session. Nothing is created before the first change.
#[derive(Debug)]
pub struct FileHistory {
    pub(crate) index: ChangeIndex,
    pub(crate) store: ContentStore,
}

/// Where a session is when a file changes.
#[derive(Debug, Clone, Copy)]
pub struct Position<'a> {
    /// The entries from the root to the leaf.
    pub branch: &'a [EntryId],
    /// The user message that is being answered.
    pub turn: &'a EntryId,
}

/// What makes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeCause<'a> {
    /// A tool call, whose result has no entry yet.
    Tool { call: &'a str },
    /// The user or another program.
    Other,
}

/// What a path is at an entry, and what pi left there last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStates<'history> {
    pub(crate) wanted: &'history FileState,
    pub(crate) left: &'history FileState,
}

impl FileHistory {
    /// Opens the history in a directory, which may not exist yet. Contents take at most `max_bytes` on disk.
    pub fn open(directory: &Path, max_bytes: u64) -> io::Result<Self> {
        Ok(Self {
            index: ChangeIndex::open(directory)?,
            store: ContentStore::new(directory, max_bytes),
        })
    }

    /// Reads what other processes have recorded.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.index.refresh()
    }

    /// All changes, oldest first.
    pub fn changes(&self) -> &[Change] {
        self.index.changes()
    }

    /// Returns a content; `None` if it is not stored.
    pub fn content(&self, id: &ContentId) -> io::Result<Option<Vec<u8>>> {
        self.store.get(id)
    }

    /// Records a change that was made. A tool call is bound to the last entry of the branch until its result is
    /// stored; see [`FileHistory::bind`].
    pub fn record(
        &mut self,
        at: &Position<'_>,
        cause: ChangeCause<'_>,
        path: &Path,
        before: &CapturedFile,
        after: &CapturedFile,
    ) -> io::Result<()> {
        if before.state.is_same(&after.state) {
            return Ok(());
        }
        self.refresh()?;
        let is_directory = matches!(after.state, FileState::Directory { .. });
        if is_directory && self.left(path) == Some(&after.state) {
            // Two calls have found the same directory missing, and the other one has recorded it.
            return Ok(());
        }
        self.follow_move(at)?;
        for captured in [before, after] {
            if let Some(contents) = &captured.contents {
                self.store.put(contents)?;
            }
        }
        let left = self.left(path).cloned();
        if let Some(left) = left.filter(|left| *left != before.state) {
            let entry = self.owner(at, path);
            self.append(
                at,
                entry,
                path,
                (left, before.state.clone()),
                ChangeSource::Other,
            )?;
        }
        let (entry, source) = match cause {
            ChangeCause::Tool { call } => {
                let call = call.to_owned();
                let is_bound = false;
                let source = ChangeSource::Tool { call, is_bound };
                (at.branch.last().cloned(), source)
            }
            ChangeCause::Other => (self.owner(at, path), ChangeSource::Other),
        };
        let states = (before.state.clone(), after.state.clone());
        self.append(at, entry, path, states, source)?;
        self.enforce_limit()
    }

    /// Binds the changes that a tool call of a turn has made to the entry with its result.
    pub fn bind(&mut self, call: &str, turn: &EntryId, entry: &EntryId) -> io::Result<()> {
        self.refresh()?;
        self.index.bind(call, turn, entry)
    }

    /// Returns the states that all known paths have at the last entry of a branch.
    pub(crate) fn states_at(&self, branch: &[EntryId]) -> BTreeMap<&Path, PathStates<'_>> {
        let branch: HashSet<&str> = branch.iter().map(EntryId::as_str).collect();
        let mut states: BTreeMap<&Path, PathStates<'_>> = BTreeMap::new();
        for change in self.changes() {
            let state = states.entry(&change.path).or_insert(PathStates {
                // Before the first change of a path, it is what that change found.
                wanted: &change.before,
                left: &change.before,
            });
            state.left = &change.after;
            let entry = change.entry.as_ref();
            if entry.is_some_and(|entry| branch.contains(entry.as_str())) {
                state.wanted = &change.after;
            }
        }
        states
    }

    /// Returns what pi left at a path, if it knows it.
    pub(crate) fn left(&self, path: &Path) -> Option<&FileState> {
        let mut changes = self.changes().iter().rev();
        let last = changes.find(|change| change.path == path)?;
        Some(&last.after)
    }

    /// Records what the files of a turn are, for turns that change none. The files stay as they are when a session moves
    /// in its tree without restoring them, and when they are restored without a move: from here on, that is what they
    /// are on this branch.
    pub fn follow_move(&mut self, at: &Position<'_>) -> io::Result<()> {
        let moved = self.states_at(at.branch).into_iter();
        let moved = moved.filter(|(_, states)| states.wanted != states.left);
        let moved: Vec<_> = moved
            .map(|(path, states)| {
                let states = (states.wanted.clone(), states.left.clone());
                (path.to_owned(), states)
            })
            .collect();
        for (path, states) in moved {
            let entry = self.owner(at, &path);
            self.append(at, entry, &path, states, ChangeSource::Move)?;
        }
        Ok(())
    }

    /// Returns the entry of a change that happened at an unknown time before now: the user message that is being
    /// answered, or the leaf if the answer has already changed the path.
    fn owner(&self, at: &Position<'_>, path: &Path) -> Option<EntryId> {
        let mut changes = self.changes().iter();
        let is_changed =
            changes.any(|change| change.turn.as_ref() == Some(at.turn) && change.path == path);
        if is_changed {
            at.branch.last().cloned()
        } else {
            Some(at.turn.clone())
        }
    }

    fn append(
        &mut self,
        at: &Position<'_>,
        entry: Option<EntryId>,
        path: &Path,
        (before, after): (FileState, FileState),
        source: ChangeSource,
    ) -> io::Result<()> {
        self.index.append(Change {
            entry,
            turn: Some(at.turn.clone()),
            path: path.to_owned(),
            before,
            after,
            source,
        })
    }

    /// Removes the contents that no change refers to, except some: copies that an earlier process made.
    pub(crate) fn remove_unused(&mut self, kept: &HashSet<ContentId>) -> io::Result<()> {
        let states = self.index.changes().iter();
        let states = states.flat_map(|change| [&change.before, &change.after]);
        let used: HashSet<_> = states.filter_map(FileState::content).collect();
        for id in self.store.sizes()?.into_keys() {
            if !used.contains(&id) && !kept.contains(&id) {
                self.store.remove(&id)?;
            }
        }
        Ok(())
    }

    /// Removes the contents that were used last by the oldest changes.
    pub(crate) fn enforce_limit(&mut self) -> io::Result<()> {
        if !self.store.is_over_limit()? {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let mut newest_first = Vec::new();
        for change in self.changes().iter().rev() {
            for state in [&change.after, &change.before] {
                if let Some(id) = state.content()
                    && seen.insert(id.clone())
                {
                    newest_first.push(id.clone());
                }
            }
        }
        self.store.prune(newest_first.into_iter().rev())
    }
}
