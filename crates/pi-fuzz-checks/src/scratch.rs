//! A folder for the files of checks: one a thread, since a folder an input would be most of the time.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = TempDir::new().unwrap();
}

/// Returns the folder of this thread, which exists as long as the thread does.
pub(crate) fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

/// Writes a file below the folder and returns its path.
pub(crate) fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
    File::create(&path).unwrap().write_all(bytes).unwrap();
    path
}
