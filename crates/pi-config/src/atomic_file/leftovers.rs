//! Removes temporary files left behind by killed writers.
//!
//! A writer locks its temporary file while it writes, so an unlocked file is abandoned. On a file system
//! without locks, nothing is removed. `pi-session` implements the same scheme for its directories; the two
//! crates share no dependency that deals with files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;

/// Younger files are kept: a writer does not hold the lock between creating and locking its file, and between
/// unlocking and renaming it.
const MIN_AGE: Duration = Duration::from_secs(10);

/// Length of the random hexadecimal part of a temporary file's name.
const DIGITS: usize = 16;

const EXTENSION: &str = ".tmp";

/// Returns a random name for a temporary file in the target's directory.
pub(super) fn temporary_name(target: &OsStr) -> OsString {
    let mut name = OsString::from(".");
    name.push(target);
    name.push(format!(".{:0DIGITS$x}{EXTENSION}", rand::random::<u64>()));
    name
}

/// Locks a temporary file, so other processes do not remove it.
pub(super) fn lock(file: &File) {
    if let Err(error) = file.try_lock() {
        tracing::debug!(%error, "cannot lock temporary file");
    }
}

/// Removes the abandoned temporary files of a target.
pub(super) fn remove_abandoned(target: &OsStr, directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if is_temporary_of(&entry.file_name(), target)
            && is_abandoned(&path)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, file = %path.display(), "cannot remove abandoned temporary file");
        }
    }
}

fn is_temporary_of(name: &OsStr, target: &OsStr) -> bool {
    let digits = name
        .as_encoded_bytes()
        .strip_prefix(b".")
        .and_then(|name| name.strip_prefix(target.as_encoded_bytes()))
        .and_then(|name| name.strip_prefix(b"."))
        .and_then(|name| name.strip_suffix(EXTENSION.as_bytes()));
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return false;
    };
    let age = metadata
        .modified()
        .ok()
        .and_then(|time| time.elapsed().ok());
    let is_old = metadata.is_file() && age.is_some_and(|age| age >= MIN_AGE);
    let is_free = |file: File| file.try_lock().is_ok();
    is_old && OpenOptions::new().write(true).open(path).is_ok_and(is_free)
}
