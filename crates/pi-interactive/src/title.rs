//! The title of the terminal's window.

use std::path::Path;

/// Returns the title of a session: its name, if it has one, and its directory.
pub(crate) fn of(name: Option<&str>, cwd: &Path) -> String {
    let folder = cwd.file_name().map_or_else(
        || cwd.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    match name {
        Some(name) => format!("π - {name} - {folder}"),
        None => format!("π - {folder}"),
    }
}
