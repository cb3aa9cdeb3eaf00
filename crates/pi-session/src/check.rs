//! Looks a session file over without changing it.
//!
//! Opening a session passes over what it cannot read; a check says what that is, line by line, and what
//! follows from it. [`crate::repair`] mends what is found here.

use std::io;
use std::path::{Path, PathBuf};

use crate::directory;
use crate::error::SessionError;
use crate::storage::{AccessMode, Claim, DiskStorage, LogFile, LogStorage};

pub(crate) mod links;
pub(crate) mod problem;
pub(crate) mod survey;
mod wreckage;

pub(crate) use wreckage::text_after;

use links::Mending;
use problem::{SessionProblem, ProblemKind, Severity};
use survey::Survey;

/// What a look at a session file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCheck {
    pub path: PathBuf,
    /// How many entries can be read.
    pub entries: usize,
    /// What is odd, in the order of the file; of very many, the first.
    pub problems: Vec<SessionProblem>,
    /// How many problems are damage.
    pub damage: usize,
    /// How many are notes.
    pub notes: usize,
}

impl SessionCheck {
    /// Checks a file; it is only read.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let path = directory::resolve(path);
        match examine(&path) {
            Ok(examined) => Ok(examined.report(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(SessionError::Missing { path })
            }
            Err(source) => Err(SessionError::Unreadable { path, source }),
        }
    }

    /// Returns whether nothing needs a repair.
    pub fn is_sound(&self) -> bool {
        self.damage == 0
    }

    /// Returns the problems of one severity.
    pub fn with_severity(&self, severity: Severity) -> impl Iterator<Item = &SessionProblem> {
        let problems = self.problems.iter();
        problems.filter(move |problem| problem.kind.severity() == severity)
    }
}

/// Looks at a file. One that seems damaged is claimed for an instant, to learn whether somebody writes.
fn examine(path: &Path) -> io::Result<Examined> {
    let file = DiskStorage.open(path, AccessMode::Read)?;
    let mut examined = Examined::of(&*file)?;
    let findings = &mut examined.survey.findings;
    if findings.damage > 0 && file.claim() == Claim::HeldByAnother {
        findings.add(None, ProblemKind::InUse);
        findings.sort();
    }
    Ok(examined)
}

/// All that is known of a file after a look at it.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) survey: Survey,
    pub(crate) mending: Mending,
    /// How long the file was.
    pub(crate) length: u64,
}

impl Examined {
    pub(crate) fn of(file: &dyn LogFile) -> io::Result<Self> {
        let length = file.length()?;
        let mut survey = Survey::of(file, length)?;
        let mending = links::check(&survey.pieces, &mut survey.findings);
        survey.findings.sort();
        Ok(Self {
            survey,
            mending,
            length,
        })
    }

    pub(crate) fn report(&self, path: PathBuf) -> SessionCheck {
        let findings = &self.survey.findings;
        SessionCheck {
            path,
            entries: self.survey.entry_count(),
            problems: findings.problems.clone(),
            damage: findings.damage,
            notes: findings.notes,
        }
    }
}

#[cfg(test)]
mod tests;
