//! What has to change to bring the files of an entry back.

use std::io;
use std::path::{Path, PathBuf};

use pi_protocol::EntryId;

use crate::file_state::{CapturedFile, FileState};
use crate::history::FileHistory;

/// The files that differ from what they were at an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestorePlan {
    /// The entry, unless the plan is for some paths only.
    pub(crate) target: Option<EntryId>,
    /// Ordered by path.
    pub files: Vec<PlannedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: PathBuf,
    /// What it was at the entry.
    pub wanted: FileState,
    /// What it is, as far as pi knows.
    pub left: FileState,
    pub condition: FileCondition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCondition {
    /// The file is what pi left.
    Restorable,
    /// Something else has changed the file since pi did.
    ChangedSince,
    /// The contents are not stored: too large, too old, or never seen.
    Unavailable,
}

impl FileHistory {
    /// Returns what to do to restore the files at the last entry of a branch.
    pub fn plan(&self, branch: &[EntryId]) -> io::Result<RestorePlan> {
        let states = self.states_at(branch).into_iter();
        let mut files = Vec::new();
        for (path, states) in states.filter(|(_, states)| states.wanted != states.left) {
            if let Some(condition) = self.condition(path, states.wanted, states.left)? {
                files.push(PlannedFile {
                    path: path.to_owned(),
                    wanted: states.wanted.clone(),
                    left: states.left.clone(),
                    condition,
                });
            }
        }
        Ok(RestorePlan {
            target: branch.last().cloned(),
            files,
        })
    }

    /// Returns what to do to undo the last turn of a branch that changed files and is not undone; `None` if there is
    /// none.
    pub fn plan_undo(&self, branch: &[EntryId]) -> io::Result<Option<RestorePlan>> {
        for (end, paths) in self.turns_to_undo(branch) {
            let mut plan = self.plan(branch.get(..=end).unwrap_or_default())?;
            plan.files.retain(|file| paths.contains(&*file.path));
            if !plan.is_empty() {
                return Ok(Some(plan));
            }
        }
        Ok(None)
    }

    /// Returns the condition of a path; `None` if it already is in the wanted state.
    pub(crate) fn condition(
        &self,
        path: &Path,
        wanted: &FileState,
        left: &FileState,
    ) -> io::Result<Option<FileCondition>> {
        let current = CapturedFile::read(path)?.state;
        if current.is_same(wanted) {
            return Ok(None);
        }
        let is_stored = match wanted {
            FileState::Other => false,
            FileState::File { sha256, .. } => self.store.contains(sha256),
            FileState::Missing | FileState::Link { .. } | FileState::Directory { .. } => true,
        };
        Ok(Some(if !is_stored {
            FileCondition::Unavailable
        } else if current.is_same(left) {
            FileCondition::Restorable
        } else {
            FileCondition::ChangedSince
        }))
    }
}

impl RestorePlan {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the plan for a file, or for everything in a directory.
    #[must_use]
    pub fn below(mut self, path: &Path) -> Self {
        self.target = None;
        self.files.retain(|file| file.path.starts_with(path));
        self
    }

    pub fn count(&self, condition: FileCondition) -> usize {
        let files = self.files.iter();
        files.filter(|file| file.condition == condition).count()
    }
}

impl PlannedFile {
    /// Returns what restoring does, in one word.
    pub fn action(&self) -> &'static str {
        match (&self.left, &self.wanted) {
            (_, FileState::Missing) => "delete",
            (FileState::Missing, _) => "create",
            (FileState::File { sha256: left, .. }, FileState::File { sha256: wanted, .. })
                if left == wanted =>
            {
                "mode"
            }
            _ => "change",
        }
    }
}
