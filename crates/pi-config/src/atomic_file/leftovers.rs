//! Clears away what killed writers left beside a file.
//!
//! A writer locks its temporary file as long as it writes, so that a file nobody holds has lost its
//! writer. Where the file system has no locks, nothing is removed. `pi-session` does the same in its
//! directories: neither crate sees the other, and what is below both knows no files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;

/// Younger files are left alone: between making a file and locking it, and between letting it go and
/// renaming it, a writer does not hold it.
const SMALLEST_AGE: Duration = Duration::from_secs(10);

/// The digits that keep the temporary files of one target apart.
const DIGITS: usize = 16;

const ENDING: &str = ".tmp";

/// Returns a name for a temporary file beside a target, another one each time.
pub(super) fn temporary_name(target: &OsStr) -> OsString {
    let mut name = OsString::from(".");
    name.push(target);
    name.push(format!(".{:0DIGITS$x}{ENDING}", rand::random::<u64>()));
    name
}

/// Holds a temporary file, so that nobody clears it away.
pub(super) fn hold(file: &File) {
    if let Err(error) = file.try_lock() {
        tracing::debug!(%error, "a temporary file cannot be locked");
    }
}

/// Removes the temporary files of a target whose writers are gone.
pub(super) fn clear(target: &OsStr, directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if is_temporary_of(&entry.file_name(), target)
            && is_abandoned(&path)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, file = %path.display(), "an old temporary file stays");
        }
    }
}

fn is_temporary_of(name: &OsStr, target: &OsStr) -> bool {
    let digits = name
        .as_encoded_bytes()
        .strip_prefix(b".")
        .and_then(|name| name.strip_prefix(target.as_encoded_bytes()))
        .and_then(|name| name.strip_prefix(b"."))
        .and_then(|name| name.strip_suffix(ENDING.as_bytes()));
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
    let is_old = metadata.is_file() && age.is_some_and(|age| age >= SMALLEST_AGE);
    let is_free = |file: File| file.try_lock().is_ok();
    is_old && OpenOptions::new().write(true).open(path).is_ok_and(is_free)
}
