//! Deletes sessions: moves them to the trash if possible, otherwise removes them permanently.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use thiserror::Error;

use crate::checksums::remove_checksums;
use crate::file_history::remove_file_history;
use crate::listing::is_locked;
use crate::pending::remove_journal;

/// How often it is checked whether a session is released.
const RELEASE_ATTEMPTS: usize = 100;

const RELEASE_DELAY: Duration = Duration::from_millis(20);

/// Command that moves files to the trash.
const TRASH: &str = "trash";

/// How a session file was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    Trashed,
    Deleted,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemovalError {
    /// Its messages would be lost.
    #[error("cannot delete session {}: a pi process has it open; close it there first", path.display())]
    InUse { path: PathBuf },
    #[error("cannot delete session file {}{}", path.display(), trash_hint(trash.as_deref()))]
    Failed {
        path: PathBuf,
        /// Error output of the trash command, if it ran.
        trash: Option<String>,
        #[source]
        source: io::Error,
    },
}

fn trash_hint(stderr: Option<&str>) -> String {
    stderr
        .map(|stderr| format!(" (trash: {stderr})"))
        .unwrap_or_default()
}

/// Deletes a session file that no process has open. Blocks until the trash command exits.
pub fn delete_session(path: &Path) -> Result<Removal, RemovalError> {
    if is_in_use(path) {
        return Err(RemovalError::InUse {
            path: path.to_owned(),
        });
    }
    let removal = delete_with(OsStr::new(TRASH), path)?;
    remove_journal(path);
    remove_checksums(path);
    remove_file_history(path);
    Ok(removal)
}

/// Returns whether the session stays locked: one that was just closed is released once all of its tasks have ended.
fn is_in_use(path: &Path) -> bool {
    (0..RELEASE_ATTEMPTS).all(|attempt| {
        if attempt > 0 {
            std::thread::sleep(RELEASE_DELAY);
        }
        is_locked(path)
    })
}

fn delete_with(program: &OsStr, path: &Path) -> Result<Removal, RemovalError> {
    // An absolute path cannot be mistaken for an option.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let output = Command::new(program)
        .arg(&path)
        .stdin(Stdio::null())
        .output();
    let trash = match output {
        Ok(output) if output.status.success() => return Ok(Removal::Trashed),
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            stderr.lines().next().map(str::to_owned)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(error.to_string()),
    };
    match fs::remove_file(&path) {
        Ok(()) => Ok(Removal::Deleted),
        // The trash command removed the file but reported some other error.
        Err(error) if error.kind() == io::ErrorKind::NotFound && trash.is_some() => {
            Ok(Removal::Trashed)
        }
        Err(source) => Err(RemovalError::Failed {
            path,
            trash,
            source,
        }),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use pi_test_support::write_program;
    use pretty_assertions::assert_eq;

    use super::*;

    fn program(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("trash-program");
        write_program(&path, format!("#!/bin/sh\n{script}\n"));
        path
    }

    #[test]
    fn a_file_is_trashed_or_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("s.jsonl");
        let cases = [
            ("rm \"$1\"", Removal::Trashed),
            ("rm \"$1\"; echo odd >&2; exit 1", Removal::Trashed),
            ("echo full >&2; exit 1", Removal::Deleted),
        ];
        for (script, expected) in cases {
            fs::File::create(&file).unwrap();
            let program = program(directory.path(), script);
            let removal = delete_with(program.as_os_str(), &file).unwrap();
            assert_eq!((removal, file.exists()), (expected, false), "{script}");
        }
        fs::File::create(&file).unwrap();
        let missing = directory.path().join("no-such-program");
        let removal = delete_with(missing.as_os_str(), &file).unwrap();
        assert_eq!((removal, file.exists()), (Removal::Deleted, false));
    }

    #[test]
    fn a_failed_deletion_reports_both_errors() {
        let directory = tempfile::tempdir().unwrap();
        let program = program(directory.path(), "echo full >&2; exit 1");
        // A directory cannot be unlinked.
        let error = delete_with(program.as_os_str(), directory.path()).unwrap_err();
        assert!(error.to_string().ends_with(" (trash: full)"), "{error}");
    }
}
