//! Brings files back. What they were before is stored first, so that nothing is lost that the store has room for.

use std::io;
use std::path::PathBuf;

use pi_protocol::EntryId;

use crate::change_index::{Change, ChangeSource};
use crate::file_state::{CapturedFile, FileState};
use crate::history::FileHistory;
use crate::place::{IfMissing, Place};
use crate::plan::{FileCondition, PlannedFile, RestorePlan};

/// Added to the name of a file that is written next to a changed one, with a number if there is one already.
const NEXT_TO: &str = ".restored";

/// What happens to files that something else has changed since pi did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    Skip,
    Overwrite,
    /// Write the old contents to `NAME.restored`, or `NAME.restored-2`; deletions are skipped.
    WriteNextTo,
}

/// What a restore did.
#[derive(Debug, Default)]
pub struct RestoreReport {
    pub restored: Vec<PathBuf>,
    /// Files with the old contents, next to files that were changed since.
    pub written_next_to: Vec<PathBuf>,
    /// Changed since, or not stored.
    pub skipped: Vec<PathBuf>,
    pub failed: Vec<(PathBuf, io::Error)>,
}

/// What is done with one file.
enum Step {
    Restore,
    WriteNextTo,
    Skip,
    Nothing,
}

impl FileHistory {
    /// Restores the files of a plan. Each is checked again: it may have changed since the plan was made.
    pub fn restore(
        &mut self,
        plan: &RestorePlan,
        resolution: Resolution,
    ) -> io::Result<RestoreReport> {
        self.refresh()?;
        let mut report = RestoreReport::default();
        let (removed, written): (Vec<_>, Vec<_>) = plan
            .files
            .iter()
            .partition(|file| file.wanted == FileState::Missing);
        // A plan is ordered by path: files go before their directories, and come after them.
        for file in removed.into_iter().rev().chain(written) {
            let target = plan.target.as_ref();
            if let Err(error) = self.restore_file(file, target, resolution, &mut report) {
                report.failed.push((file.path.clone(), error));
            }
        }
        self.enforce_limit()?;
        Ok(report)
    }

    fn restore_file(
        &mut self,
        file: &PlannedFile,
        target: Option<&EntryId>,
        resolution: Resolution,
        report: &mut RestoreReport,
    ) -> io::Result<()> {
        let path = &file.path;
        let condition = self.condition(path, &file.wanted, &file.left)?;
        let step = match (condition, resolution) {
            (None, _) => Step::Nothing,
            (Some(FileCondition::Restorable), _)
            | (Some(FileCondition::ChangedSince), Resolution::Overwrite) => Step::Restore,
            (Some(FileCondition::ChangedSince), Resolution::WriteNextTo)
                if file.wanted.content().is_some() =>
            {
                Step::WriteNextTo
            }
            (Some(FileCondition::ChangedSince | FileCondition::Unavailable), _) => Step::Skip,
        };
        match step {
            Step::Skip => report.skipped.push(path.clone()),
            Step::WriteNextTo => {
                let place = Place::open(path, IfMissing::Create)?.free_entry(NEXT_TO)?;
                self.write_state(&place, &file.wanted)?;
                let next = path.with_file_name(place.name());
                report.written_next_to.push(next);
            }
            Step::Nothing => self.record_restored(file, target, file.left.clone())?,
            Step::Restore => {
                let if_missing = match file.wanted {
                    FileState::Missing => IfMissing::Fail,
                    _ => IfMissing::Create,
                };
                let place = Place::open(path, if_missing)?;
                let current = CapturedFile::read(path)?;
                if let Some(contents) = &current.contents {
                    self.store.put(contents)?;
                }
                if self.write_state(&place, &file.wanted)? {
                    self.record_restored(file, target, current.state)?;
                    report.restored.push(path.clone());
                }
            }
        }
        Ok(())
    }

    fn record_restored(
        &mut self,
        file: &PlannedFile,
        target: Option<&EntryId>,
        before: FileState,
    ) -> io::Result<()> {
        self.index.append(Change {
            entry: None,
            turn: None,
            path: file.path.clone(),
            before,
            after: file.wanted.clone(),
            source: ChangeSource::Restore {
                to: target.cloned(),
            },
        })
    }

    /// Returns false if a directory stays because it is not empty.
    fn write_state(&self, place: &Place, state: &FileState) -> io::Result<bool> {
        match state {
            FileState::Missing => return place.remove(),
            FileState::Directory { mode } => place.create_directory(*mode)?,
            FileState::Link { target } => place.create_link(target)?,
            FileState::File { sha256, mode, .. } => {
                let contents = self.store.get(sha256)?;
                let contents =
                    contents.ok_or_else(|| io::Error::other("the stored contents are damaged"))?;
                place.write(&contents, *mode)?;
            }
            FileState::Other => return Err(io::Error::other("nothing is stored")),
        }
        Ok(true)
    }
}
