//! Brings files back. What they were before is stored first, so that nothing is lost that the store has room for.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::NewFileMode;
use pi_protocol::EntryId;

use crate::change_index::{Change, ChangeSource};
use crate::file_state::{CapturedFile, FileState};
use crate::history::FileHistory;
use crate::plan::{FileCondition, PlannedFile, RestorePlan};

/// Added to the name of a file that is written next to a changed one.
const NEXT_TO: &str = ".restored";

/// What happens to files that something else has changed since pi did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    Skip,
    Overwrite,
    /// Write the old contents to `NAME.restored`; deletions are skipped.
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
                let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
                name.push(NEXT_TO);
                let next = path.with_file_name(name);
                self.write_state(&next, &file.wanted)?;
                report.written_next_to.push(next);
            }
            Step::Nothing => self.record_restored(file, target, file.left.clone())?,
            Step::Restore => {
                check_directory(path)?;
                let current = CapturedFile::read(path)?;
                if let Some(contents) = &current.contents {
                    self.store.put(contents)?;
                }
                if self.write_state(path, &file.wanted)? {
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
    fn write_state(&self, path: &Path, state: &FileState) -> io::Result<bool> {
        match state {
            FileState::Missing => return remove(path),
            FileState::Directory { mode } => {
                let found = fs::symlink_metadata(path);
                if !found.is_ok_and(|found| found.is_dir()) {
                    remove(path)?;
                    fs::create_dir_all(path)?;
                }
                set_mode(path, *mode)?;
            }
            FileState::Link { target } => {
                create_parent(path)?;
                remove(path)?;
                create_link(target, path)?;
            }
            FileState::File { sha256, mode, .. } => {
                let contents = self.store.get(sha256)?;
                let contents =
                    contents.ok_or_else(|| io::Error::other("the stored contents are damaged"))?;
                create_parent(path)?;
                // A replacement would follow a link, and fail for a directory.
                let found = fs::symlink_metadata(path);
                if found.is_ok_and(|found| !found.is_file()) {
                    remove(path)?;
                }
                pi_fs::atomic_file::write(path, &contents, NewFileMode::Private)?;
                set_mode(path, *mode)?;
            }
            FileState::Other => return Err(io::Error::other("nothing is stored")),
        }
        Ok(true)
    }
}

/// Removes a file, a link or an empty directory; returns false if a directory is not empty.
fn remove(path: &Path) -> io::Result<bool> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(error),
    }
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Fails if a directory on the way became a link since the file was recorded: the link may lead anywhere.
fn check_directory(path: &Path) -> io::Result<()> {
    let existing = path.ancestors().skip(1).find(|parent| parent.exists());
    let Some(parent) = existing else {
        return Ok(());
    };
    if fs::canonicalize(parent)? == parent {
        Ok(())
    } else {
        Err(io::Error::other(
            "a directory of the path became a symbolic link",
        ))
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    match mode {
        Some(mode) => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: Option<u32>) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn create_link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn create_link(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::Error::other(
        "symbolic links are not restored on this system",
    ))
}
