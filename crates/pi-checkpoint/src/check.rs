//! Checks a history, for `pi fsck`.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use crate::content_store::ContentId;
use crate::history::FileHistory;

/// What is wrong with a history. None of it prevents restoring what is intact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryCheck {
    pub changes: usize,
    pub contents: usize,
    /// Lines of the index that are not complete or not valid.
    pub invalid_lines: usize,
    /// Contents that are not what their name says.
    pub damaged: Vec<ContentId>,
    /// Contents that no change refers to.
    pub unused: Vec<ContentId>,
}

impl HistoryCheck {
    /// Checks the history in a directory; `None` if there is none.
    pub fn read(directory: &Path) -> io::Result<Option<Self>> {
        if !directory.is_dir() {
            return Ok(None);
        }
        let history = FileHistory::open(directory, u64::MAX)?;
        let states = history.changes().iter();
        let states = states.flat_map(|change| [&change.before, &change.after]);
        let used: HashSet<_> = states.filter_map(|state| state.content()).collect();
        let mut check = Self {
            changes: history.changes().len(),
            invalid_lines: history.index.invalid_lines(),
            ..Self::default()
        };
        for id in history.store.sizes()?.into_keys() {
            check.contents += 1;
            if history.store.get(&id)?.is_none() {
                check.damaged.push(id);
            } else if !used.contains(&id) {
                check.unused.push(id);
            }
        }
        Ok(Some(check))
    }

    pub fn is_sound(&self) -> bool {
        self.invalid_lines == 0 && self.damaged.is_empty()
    }

    /// Removes damaged and unused contents. Invalid lines are ignored by every reader and stay.
    pub fn remove_unusable(&self, directory: &Path) -> io::Result<()> {
        let mut history = FileHistory::open(directory, u64::MAX)?;
        for id in self.damaged.iter().chain(&self.unused) {
            history.store.remove(id)?;
        }
        Ok(())
    }
}
