//! What a path is, as text of a comparison.

use std::io;
use std::path::Path;

/// Returns the text of a file, or a line that names the target of a link, which may lead anywhere. Empty if there is nothing;
/// `None` for a file that is larger or not text, a pipe or a device.
pub(crate) fn shown_text(path: &Path, max_bytes: u64) -> Option<String> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(String::new()),
        Err(_) => return None,
    };
    if metadata.is_symlink() {
        return Some(shown_link(&std::fs::read_link(path).ok()?));
    }
    if !metadata.is_file() || metadata.len() > max_bytes {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

pub(crate) fn shown_link(target: &Path) -> String {
    format!("link to {}\n", target.display())
}
