//! Clears away what killed processes left in a folder of sessions when they replaced a file.
//!
//! Whoever fills a temporary file holds a lock on it, so that one nobody holds has lost its writer.
//! Where the file system has no locks, nothing is removed.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

/// How the names of temporary files begin. They are short whatever the session's own name is.
const BEGINNING: &str = ".pi-session-";

const ENDING: &str = ".tmp";

/// Younger files are left alone: between making a file and locking it, and between letting it go and
/// renaming it, nobody holds it.
const SMALLEST_AGE: Duration = Duration::from_secs(10);

/// Returns a path for a temporary file beside a target, another one each time.
pub(super) fn temporary_path(target: &Path) -> PathBuf {
    let number = Uuid::new_v4().simple();
    target.with_file_name(format!("{BEGINNING}{number}{ENDING}"))
}

/// Holds a temporary file, so that nobody clears it away.
pub(super) fn hold(file: &File) {
    if let Err(error) = file.try_lock() {
        tracing::debug!(%error, "a temporary file cannot be locked");
    }
}

/// Removes the temporary files beside a target whose writers are gone.
pub(super) fn clear(target: &Path) {
    let Some(Ok(entries)) = target.parent().map(fs::read_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_temporary = name
            .to_str()
            .is_some_and(|name| name.starts_with(BEGINNING) && name.ends_with(ENDING));
        if is_temporary
            && is_abandoned(&path)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, path = %path.display(), "an old temporary file stays");
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
    let is_old = metadata.is_file() && age.is_some_and(|age| age >= SMALLEST_AGE);
    let is_free = |file: File| file.try_lock().is_ok();
    is_old && OpenOptions::new().write(true).open(path).is_ok_and(is_free)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_files_that_have_lost_their_writer_go() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("s.jsonl");
        let put = |path: PathBuf, age: u64| {
            let file = File::create(&path).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
            (path, file)
        };
        let (abandoned, file) = put(temporary_path(&session), 60);
        drop(file);
        let (young, file) = put(temporary_path(&session), 0);
        drop(file);
        let (foreign, file) = put(folder.path().join(".x.tmp"), 60);
        drop(file);
        let (held, writer) = put(temporary_path(&session), 60);
        hold(&writer);
        clear(&session);
        assert!(!abandoned.exists());
        assert!(young.exists() && foreign.exists() && held.exists());
        drop(writer);
        clear(&session);
        assert!(!held.exists());
    }
}
