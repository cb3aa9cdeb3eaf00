//! Removes temporary files that killed processes left behind while replacing a session file. A
//! writer holds a lock on its temporary file, so an unlocked file has lost its writer. On file
//! systems without locks, nothing is removed.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

/// Prefix of temporary file names. It does not include the session's file name, so names stay
/// short.
const PREFIX: &str = ".pi-session-";

const SUFFIX: &str = ".tmp";

/// Younger files are kept: a file is unlocked between creating and locking it, and between
/// unlocking and renaming it.
const MIN_AGE: Duration = Duration::from_secs(10);

/// Returns a unique path for a temporary file in the directory of `target`.
pub(super) fn temporary_path(target: &Path) -> PathBuf {
    let id = Uuid::new_v4().simple();
    target.with_file_name(format!("{PREFIX}{id}{SUFFIX}"))
}

/// Locks a temporary file so that other processes do not remove it.
pub(super) fn lock(file: &File) {
    if let Err(error) = file.try_lock() {
        tracing::debug!(%error, "cannot lock temporary file");
    }
}

/// Removes temporary files in the directory of `target` that have lost their writer.
pub(super) fn remove(target: &Path) {
    let Some(Ok(entries)) = target.parent().map(fs::read_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_temporary = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_temporary
            && is_abandoned(&path)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, path = %path.display(), "cannot remove stale temporary file");
        }
    }
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_unlocked_old_temporary_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let session = directory.path().join("s.jsonl");
        let create_aged = |path: PathBuf, age: u64| {
            let file = File::create(&path).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
            (path, file)
        };
        let (abandoned, file) = create_aged(temporary_path(&session), 60);
        drop(file);
        let (young, file) = create_aged(temporary_path(&session), 0);
        drop(file);
        let (unrelated, file) = create_aged(directory.path().join(".x.tmp"), 60);
        drop(file);
        let (locked, writer) = create_aged(temporary_path(&session), 60);
        lock(&writer);
        remove(&session);
        assert!(!abandoned.exists());
        assert!(young.exists() && unrelated.exists() && locked.exists());
        drop(writer);
        remove(&session);
        assert!(!locked.exists());
    }
}
