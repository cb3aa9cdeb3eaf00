//! Relative paths, as used for local packages in settings.

use std::path::{Path, PathBuf};

/// Returns an absolute path relative to an absolute directory; `.` for the directory itself.
pub(super) fn relative(path: &Path, base: &Path) -> String {
    let (mut path, mut base) = (path.components().peekable(), base.components().peekable());
    while let (Some(left), Some(right)) = (path.peek(), base.peek())
        && left == right
    {
        path.next();
        base.next();
    }
    let mut relative: PathBuf = base.map(|_| "..").collect();
    relative.extend(path);
    if relative.as_os_str().is_empty() {
        ".".to_owned()
    } else {
        relative.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_climb_to_the_common_ancestor() {
        for (path, base, expected) in [
            (
                "/home/u/project/pkg",
                "/home/u/.pi/agent",
                "../../project/pkg",
            ),
            ("/a/b", "/a/b", "."),
            ("/a/b/c", "/a/b", "c"),
            ("/a", "/a/b", ".."),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(base)), expected);
        }
    }
}
