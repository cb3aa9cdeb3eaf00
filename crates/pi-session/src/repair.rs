//! Mends a session file that [`crate::check`] found damaged, and loses nothing doing it.
//!
//! The repaired file is written beside the old one and takes its place in one step. The old one stays
//! as `….bak`, what could not be read is set aside in `….lost`; neither is ever taken for a session.
//! Every record that can be read is kept byte for byte.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pi_ai::Env;
use thiserror::Error;

use crate::check::{Examined, SessionCheck};
use crate::directory;
use crate::error::SessionError;
use crate::log::AppendLog;
use crate::storage::disk::{create_private_file, replace_with};
use crate::storage::{AccessMode, DiskStorage, LogFile, Standing};
use crate::store::open::open_log;

mod header;
mod plan;

use plan::Plan;

/// How many copies of one file are kept before a repair gives up.
const MOST_COPIES: usize = 1000;

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRepair {
    /// What was found before.
    pub found: SessionCheck,
    /// Where the file as it was is kept.
    pub backup: PathBuf,
    /// Where what could not be read is kept.
    pub lost: Option<PathBuf>,
    /// How many pieces that could not be read were set aside.
    pub quarantined: usize,
    /// How many entries stand in for lost ones.
    pub placeholders: usize,
}

/// Why a file was not repaired; in every case it is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RepairError {
    /// Another pi has the session open.
    #[error("the session {} is open in another pi: close it there first", path.display())]
    InUse { path: PathBuf },
    /// Nothing in it can be read.
    #[error("nothing in {} can be read as a session, so it was left as it is", path.display())]
    NoReadableRecords { path: PathBuf },
    /// Another program changed the file at the same time.
    #[error("another program changed {} during the repair: try again", path.display())]
    ConcurrentChange { path: PathBuf },
    /// The file cannot be opened.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The repaired file, or what is kept beside it, cannot be written.
    #[error("the repair of {} cannot be written, so it was left as it is", path.display())]
    Unwritable {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Why the last step was not taken.
enum Refusal {
    Io(io::Error),
    Changed,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl SessionRepair {
    /// Repairs a file; one that needs no repair is not touched.
    pub fn run(path: &Path, env: &Env) -> Result<Option<Self>, RepairError> {
        let path = directory::resolve(path);
        let log = open_log(&DiskStorage, &path, AccessMode::Write)?;
        if log.is_held_by_another() {
            return Err(RepairError::InUse { path });
        }
        let examined = Examined::of(log.file()).map_err(|source| SessionError::Unreadable {
            path: path.clone(),
            source,
        })?;
        if examined.survey.findings.damage == 0 {
            return Ok(None);
        }
        if !examined.survey.has_records() {
            return Err(RepairError::NoReadableRecords { path });
        }
        match write(&path, &log, &examined, env) {
            Ok(repair) => Ok(Some(repair)),
            Err(Refusal::Changed) => Err(RepairError::ConcurrentChange { path }),
            Err(Refusal::Io(source)) => Err(RepairError::Unwritable { path, source }),
        }
    }
}

fn write(path: &Path, log: &AppendLog, examined: &Examined, env: &Env) -> Result<SessionRepair, Refusal> {
    // Through a link, the file behind it is repaired and not the link.
    let target = fs::canonicalize(path)?;
    let file = log.file();
    let plan = Plan::new(examined, file, || {
        header::rebuilt(path, &examined.survey, env)
    })?;
    let mut kept = KeptFiles::default();
    let lost = if plan.aside.is_empty() {
        None
    } else {
        let (path, mut lost) = create_beside(&target, "lost")?;
        kept.0.push(path.clone());
        plan.write_aside(file, &mut lost)?;
        lost.sync_all()?;
        Some(path)
    };
    let mut backup = PathBuf::new();
    replace_with(
        &target,
        |repaired| plan.write(file, repaired),
        |repaired| {
            let is_unchanged =
                file.standing()? == Standing::InPlace && file.length()? == examined.length;
            if !is_unchanged {
                return Err(Refusal::Changed);
            }
            // The session that was spoken in last is found by this time.
            repaired.set_modified(fs::metadata(&target)?.modified()?)?;
            backup = keep_old(&target, file, examined.length)?;
            kept.0.push(backup.clone());
            Ok(())
        },
    )?;
    kept.0.clear();
    Ok(SessionRepair {
        found: examined.report(path.to_owned()),
        backup,
        lost,
        quarantined: plan.aside.len(),
        placeholders: examined.mending.stand_ins.len(),
    })
}

/// Files that go away again unless the repair succeeds.
#[derive(Default)]
struct KeptFiles(Vec<PathBuf>);

impl Drop for KeptFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "a file of a failed repair stays");
            }
        }
    }
}

/// Keeps the old file under another name. A link to it takes no space, and what another program may
/// still append to it is kept as well; where there are no links, it is copied.
fn keep_old(target: &Path, file: &dyn LogFile, length: u64) -> io::Result<PathBuf> {
    for beside in names_beside(target, "bak") {
        match fs::hard_link(target, &beside) {
            Ok(()) => return Ok(beside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                tracing::debug!(%error, "the file is copied, since it cannot be linked");
                break;
            }
        }
    }
    let (path, mut copy) = create_beside(target, "bak")?;
    let copied = plan::copy(file, 0, length, &mut copy).and_then(|()| copy.sync_all());
    if let Err(error) = copied {
        drop(KeptFiles(vec![path]));
        return Err(error);
    }
    Ok(path)
}

/// Creates a file beside another, for the user alone, under a name that was free.
fn create_beside(target: &Path, ending: &str) -> io::Result<(PathBuf, File)> {
    for path in names_beside(target, ending) {
        match create_private_file(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Names for files beside another: `s.jsonl.bak`, `s.jsonl.bak2` and so on.
fn names_beside<'target>(
    target: &'target Path,
    ending: &'target str,
) -> impl Iterator<Item = PathBuf> + 'target {
    (1..=MOST_COPIES).map(move |number| {
        let mut name: OsString = target.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        if number > 1 {
            name.push(number.to_string());
        }
        PathBuf::from(name)
    })
}

#[cfg(test)]
mod tests;
