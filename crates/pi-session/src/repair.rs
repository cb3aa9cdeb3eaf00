//! Repairs a session file that [`crate::check`] found damaged, without losing data. The repaired
//! file is written next to the old one and replaces it atomically. The old file is kept as `….bak`
//! and unreadable data as `….lost`; neither is treated as a session. Every readable record is kept
//! byte for byte.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_fs::private;
use thiserror::Error;

use crate::check::{FileInspection, SessionCheck};
use crate::checksums::remove_checksums;
use crate::directory;
use crate::error::SessionError;
use crate::log::AppendLog;
use crate::session::open::open_log;
use crate::storage::disk::REPLACEMENT;
use crate::storage::{AccessMode, DiskStorage, LogFile, PathState};
use plan::RepairPlan;

mod header;
mod plan;

/// How many copies of one file are kept before a repair fails.
const MAX_COPIES: usize = 1000;

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRepair {
    /// The check before the repair.
    pub found: SessionCheck,
    /// The copy of the original file.
    pub backup: PathBuf,
    /// The file with the unreadable data.
    pub lost: Option<PathBuf>,
    /// Number of unreadable segments moved to the `lost` file.
    pub quarantined: usize,
    /// Number of placeholder entries that replace lost ones.
    pub placeholders: usize,
}

/// Why a file was not repaired. The file is unchanged in every case.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RepairError {
    #[error("session {} is open in another pi process; close it there first", path.display())]
    InUse { path: PathBuf },
    #[error("no readable session data in {}; the file was not changed", path.display())]
    NoReadableRecords { path: PathBuf },
    #[error("another process changed {} during the repair; try again", path.display())]
    ConcurrentChange { path: PathBuf },
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The repaired file, the backup or the lost data could not be written.
    #[error("cannot write the repaired session {}; the file was not changed", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Why the file was not replaced.
enum ReplaceError {
    Io(io::Error),
    Changed,
}

impl From<io::Error> for ReplaceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl SessionRepair {
    /// Repairs a file. Returns `None` if it needs no repair; the file is not touched then.
    pub fn run(path: &Path, env: &Env) -> Result<Option<Self>, RepairError> {
        let path = directory::resolve(path);
        let log = open_log(&DiskStorage, &path, AccessMode::Write)?;
        if log.is_locked_elsewhere() {
            return Err(RepairError::InUse { path });
        }
        let inspection =
            FileInspection::of(log.file()).map_err(|source| SessionError::Unreadable {
                path: path.clone(),
                source,
            })?;
        if inspection.scan.findings.damage == 0 {
            return Ok(None);
        }
        if !inspection.scan.has_records() {
            return Err(RepairError::NoReadableRecords { path });
        }
        match write(&path, &log, &inspection, env) {
            Ok(repair) => Ok(Some(repair)),
            Err(ReplaceError::Changed) => Err(RepairError::ConcurrentChange { path }),
            Err(ReplaceError::Io(source)) => Err(RepairError::Unwritable { path, source }),
        }
    }
}

fn write(
    path: &Path,
    log: &AppendLog,
    inspection: &FileInspection,
    env: &Env,
) -> Result<SessionRepair, ReplaceError> {
    // Repair the target of a symlink, not the symlink.
    let target = fs::canonicalize(path)?;
    let file = log.file();
    let plan = RepairPlan::new(inspection, file, || {
        header::rebuild(path, &inspection.scan, env)
    })?;
    let mut cleanup = RemoveOnDrop::default();
    let lost = if plan.quarantined.is_empty() {
        None
    } else {
        let (path, mut lost) = create_sibling(&target, "lost")?;
        cleanup.0.push(path.clone());
        plan.write_quarantined(file, &mut lost)?;
        lost.sync_all()?;
        Some(path)
    };
    let mut backup = PathBuf::new();
    REPLACEMENT.run(
        &target,
        |repaired| Ok(plan.write(file, repaired)?),
        |repaired| {
            let is_unchanged =
                file.path_state()? == PathState::Unchanged && file.length()? == inspection.length;
            if !is_unchanged {
                return Err(ReplaceError::Changed);
            }
            // Keep the modification time: the most recent session is found by it.
            repaired.set_modified(fs::metadata(&target)?.modified()?)?;
            backup = create_backup(&target, file, inspection.length)?;
            cleanup.0.push(backup.clone());
            Ok(())
        },
    )?;
    cleanup.0.clear();
    // They cover the replaced content.
    remove_checksums(path);
    Ok(SessionRepair {
        found: inspection.report(path.to_owned()),
        backup,
        lost,
        quarantined: plan.quarantined.len(),
        placeholders: inspection.link_repairs.placeholders.len(),
    })
}

/// Removes its files on drop, unless they are cleared after a successful repair.
#[derive(Default)]
struct RemoveOnDrop(Vec<PathBuf>);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "cannot remove file of a failed repair");
            }
        }
    }
}

/// Keeps the old file under another name. A hard link takes no space and also keeps what another
/// process may still append; if hard links are not supported, the file is copied.
fn create_backup(target: &Path, file: &dyn LogFile, length: u64) -> io::Result<PathBuf> {
    for backup in sibling_paths(target, "bak") {
        match fs::hard_link(target, &backup) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                tracing::debug!(%error, "cannot create a hard link; copying instead");
                break;
            }
        }
    }
    let (path, mut copy) = create_sibling(target, "bak")?;
    let copied = plan::copy(file, 0, length, &mut copy).and_then(|()| copy.sync_all());
    if let Err(error) = copied {
        drop(RemoveOnDrop(vec![path]));
        return Err(error);
    }
    Ok(path)
}

/// Creates a file with an unused name next to `target` that only the user can access.
fn create_sibling(target: &Path, suffix: &str) -> io::Result<(PathBuf, File)> {
    for path in sibling_paths(target, suffix) {
        match private::create_file(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns candidate paths next to `target`: `s.jsonl.bak`, `s.jsonl.bak2` and so on.
fn sibling_paths<'target>(
    target: &'target Path,
    suffix: &'target str,
) -> impl Iterator<Item = PathBuf> + 'target {
    (1..=MAX_COPIES).map(move |number| {
        let mut name: OsString = target.as_os_str().to_owned();
        name.push(".");
        name.push(suffix);
        if number > 1 {
            name.push(number.to_string());
        }
        PathBuf::from(name)
    })
}

#[cfg(test)]
mod tests;
