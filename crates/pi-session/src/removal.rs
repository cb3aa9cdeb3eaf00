//! Deleting a session: into the trash where there is one, else for good.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// The program that moves files into the trash.
const TRASH: &str = "trash";

/// How a session file went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is in the trash.
    Trashed,
    Deleted,
}

/// Why a session file could not be deleted.
#[derive(Debug, Error)]
#[error("the session file {} cannot be deleted{}", path.display(), trash_hint(trash.as_deref()))]
pub struct RemovalError {
    pub path: PathBuf,
    /// What the trash program said, if there is one.
    pub trash: Option<String>,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

fn trash_hint(said: Option<&str>) -> String {
    said.map(|said| format!(" (trash: {said})"))
        .unwrap_or_default()
}

/// Deletes a session file. Blocks until the trash program is done.
pub fn delete_session(path: &Path) -> Result<Removal, RemovalError> {
    delete_with(OsStr::new(TRASH), path)
}

fn delete_with(program: &OsStr, path: &Path) -> Result<Removal, RemovalError> {
    // An absolute path cannot be taken for an option.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let answer = Command::new(program)
        .arg(&path)
        .stdin(Stdio::null())
        .output();
    let trash = match answer {
        Ok(output) if output.status.success() => return Ok(Removal::Trashed),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            said.lines().next().map(str::to_owned)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(error.to_string()),
    };
    match fs::remove_file(&path) {
        Ok(()) => Ok(Removal::Deleted),
        // The trash took it and complained about something else.
        Err(error) if error.kind() == io::ErrorKind::NotFound && trash.is_some() => {
            Ok(Removal::Trashed)
        }
        Err(source) => Err(RemovalError {
            path,
            trash,
            source,
        }),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;

    use super::*;

    fn program(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("trash-program");
        fs::File::create(&path).unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_mode(0o755);
        fs::set_permissions(&path, permissions).unwrap();
        io::Write::write_all(
            &mut fs::OpenOptions::new().write(true).open(&path).unwrap(),
            format!("#!/bin/sh\n{script}\n").as_bytes(),
        )
        .unwrap();
        path
    }

    #[test]
    fn a_file_goes_to_the_trash_or_away() {
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
        let nowhere = directory.path().join("no-such-program");
        let removal = delete_with(nowhere.as_os_str(), &file).unwrap();
        assert_eq!((removal, file.exists()), (Removal::Deleted, false));
    }

    #[test]
    fn a_file_that_stays_is_an_error_with_both_reasons() {
        let directory = tempfile::tempdir().unwrap();
        let program = program(directory.path(), "echo full >&2; exit 1");
        // A directory is no file and cannot be unlinked.
        let error = delete_with(program.as_os_str(), directory.path()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("cannot be deleted (trash: full)"),
            "{error}"
        );
    }
}
