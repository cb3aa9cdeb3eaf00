//! The terminal window title.

use std::path::Path;

/// Returns the title for a session: its name, if any, and its directory.
pub(crate) fn of(name: Option<&str>, cwd: &Path) -> String {
    let directory = cwd.file_name().map_or_else(
        || cwd.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    match name {
        Some(name) => format!("π - {name} - {directory}"),
        None => format!("π - {directory}"),
    }
}
