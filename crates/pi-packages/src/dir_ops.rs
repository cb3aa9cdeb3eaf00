//! Copies and links in package directories.

use std::fs;
use std::io;
use std::path::Path;

/// How files are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMode {
    /// For files that are never modified.
    HardLink,
    Copy,
}

/// Copies a directory, except top-level entries named in `skip`. Symlinks are preserved.
pub(crate) fn copy_dir(from: &Path, to: &Path, content: CopyMode, skip: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut pending = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !skip.iter().any(|name| entry.file_name() == **name) {
            pending.push((entry.path(), to.join(entry.file_name())));
        }
    }
    while let Some((source, target)) = pending.pop() {
        let kind = fs::symlink_metadata(&source)?.file_type();
        if kind.is_symlink() {
            link(&fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            for entry in fs::read_dir(&source)? {
                let entry = entry?;
                pending.push((entry.path(), target.join(entry.file_name())));
            }
        } else if kind.is_file() {
            // Not every file system supports hard links.
            if content == CopyMode::Copy || fs::hard_link(&source, &target).is_err() {
                fs::copy(&source, &target)?;
            }
        }
    }
    Ok(())
}

/// Creates a symbolic link.
#[cfg(unix)]
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Creates a symbolic link to a directory; links in `node_modules` only point to directories.
#[cfg(windows)]
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(target, path)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    fn write(path: &Path, content: &str) {
        let mut file = File::create(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn copy_preserves_symlinks_and_skips_named_entries() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        fs::create_dir_all(from.join("sub/node_modules")).unwrap();
        fs::create_dir_all(from.join("node_modules")).unwrap();
        write(&from.join("sub/file"), "x");
        link(Path::new("sub/file"), &from.join("link")).unwrap();
        copy_dir(&from, &to, CopyMode::HardLink, &["node_modules"]).unwrap();
        assert!(to.join("sub/node_modules").is_dir());
        assert!(!to.join("node_modules").exists());
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("sub/file")
        );
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "x");
    }
}
