//! Temporary files for checks, in one directory per thread: creating one per input would take most of the time.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static DIR: TempDir = TempDir::new().unwrap();
}

/// Returns this thread's directory, which exists until the thread exits.
pub(crate) fn dir() -> PathBuf {
    DIR.with(|dir| dir.path().to_owned())
}

/// Writes a file below the directory and returns its path.
pub(crate) fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir().join(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
    File::create(&path).unwrap().write_all(bytes).unwrap();
    path
}
