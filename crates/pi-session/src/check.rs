//! Checks a session file without changing it. Opening a session skips what it cannot read; a check
//! reports every such line and its consequences. [`crate::repair`] fixes what is found here.

use std::io;
use std::path::{Path, PathBuf};

use pi_fs::file_lock::LockState;

use crate::checksums;
use crate::directory;
use crate::error::SessionError;
use crate::storage::{AccessMode, DiskStorage, LogFile, LogStorage};

pub(crate) mod file_scan;
pub(crate) mod links;
pub(crate) mod problem;
mod salvage;

pub(crate) use salvage::text_after;

use file_scan::FileScan;
use links::LinkRepairs;
use problem::{ProblemKind, SessionProblem, Severity};

/// The result of checking a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCheck {
    pub path: PathBuf,
    /// Number of readable entries.
    pub entries: usize,
    /// Number of readable entries that are as pi wrote them, according to their checksums. For others there is none.
    pub verified: usize,
    /// Problems in file order; capped for files with very many problems.
    pub problems: Vec<SessionProblem>,
    /// Number of problems with [`Severity::Damage`].
    pub damage: usize,
    /// Number of problems with [`Severity::Note`].
    pub notes: usize,
}

impl SessionCheck {
    /// Checks a file without modifying it.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let path = directory::resolve(path);
        match inspect(&path) {
            Ok(inspection) => Ok(inspection.report(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(SessionError::Missing { path })
            }
            Err(source) => Err(SessionError::Unreadable { path, source }),
        }
    }

    /// Returns whether the file needs no repair.
    pub fn is_sound(&self) -> bool {
        self.damage == 0
    }

    pub fn with_severity(&self, severity: Severity) -> impl Iterator<Item = &SessionProblem> {
        let problems = self.problems.iter();
        problems.filter(move |problem| problem.kind.severity() == severity)
    }
}

/// Inspects a file. If it seems damaged, briefly locks it to find out whether another process is
/// writing.
fn inspect(path: &Path) -> io::Result<FileInspection> {
    let file = DiskStorage.open(path, AccessMode::Read)?;
    let mut inspection = FileInspection::of(&*file)?;
    let findings = &mut inspection.scan.findings;
    if findings.damage > 0 && file.try_lock() == LockState::HeldElsewhere {
        findings.add(None, ProblemKind::InUse);
        findings.sort();
    }
    Ok(inspection)
}

/// Everything known about a file after scanning it.
#[derive(Debug)]
pub(crate) struct FileInspection {
    pub(crate) scan: FileScan,
    pub(crate) link_repairs: LinkRepairs,
    /// Length of the file when it was scanned.
    pub(crate) length: u64,
    /// Number of entries that match their checksum.
    pub(crate) verified: usize,
}

impl FileInspection {
    pub(crate) fn of(file: &dyn LogFile) -> io::Result<Self> {
        let length = file.length()?;
        let mut scan = FileScan::of(file, length)?;
        let link_repairs = links::check(&scan.segments, &mut scan.findings);
        let checksums = checksums::verify(file)?;
        let verified = scan.add_checksums(&checksums).min(scan.entry_count());
        scan.findings.sort();
        Ok(Self {
            scan,
            link_repairs,
            length,
            verified,
        })
    }

    pub(crate) fn report(&self, path: PathBuf) -> SessionCheck {
        let findings = &self.scan.findings;
        SessionCheck {
            path,
            entries: self.scan.entry_count(),
            verified: self.verified,
            problems: findings.problems.clone(),
            damage: findings.damage,
            notes: findings.notes,
        }
    }
}

#[cfg(test)]
mod tests;
