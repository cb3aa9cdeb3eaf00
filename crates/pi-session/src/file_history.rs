//! The directory with the file history of a session, `NAME.files` next to its file. `pi-checkpoint` writes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const EXTENSION: &str = "files";

/// Returns the directory with the file history of a session, which may not exist.
pub fn file_history_directory(session_file: &Path) -> PathBuf {
    session_file.with_extension(EXTENSION)
}

/// Removes the file history of a session that is deleted.
pub(crate) fn remove_file_history(session_file: &Path) {
    match fs::remove_dir_all(file_history_directory(session_file)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "cannot remove the file history of a session"),
    }
}
