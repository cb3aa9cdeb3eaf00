//! Links to files of the session's directory, which open the user's editor.
//!
//! Their addresses stay in this program: the terminal receives no link to a file, because a click there may run it.
//! Paths come from models, so that a file is looked up when it is shown and again when it is opened.

use std::fs;
use std::path::{Path, PathBuf};

use pi_views::text::file_reference::FilePosition;

const SCHEME: &str = "pi-file:";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLink {
    /// As written: absolute, below `~`, or relative to the session's directory.
    pub(crate) path: String,
    pub(crate) position: Option<FilePosition>,
}

impl FileLink {
    /// Returns the address of a hyperlink.
    pub(crate) fn address(path: &str, position: Option<FilePosition>) -> String {
        let line = position.map_or(0, |it| it.line);
        let column = position.and_then(|it| it.column).unwrap_or(0);
        format!("{SCHEME}{line}:{column}:{path}")
    }

    pub(crate) fn parse(address: &str) -> Option<Self> {
        let (line, rest) = address.strip_prefix(SCHEME)?.split_once(':')?;
        let (column, path) = rest.split_once(':')?;
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        Some(Self {
            path: path.to_owned(),
            position: number(line).map(|line| FilePosition {
                line,
                column: number(column),
            }),
        })
    }

    /// Returns the file, if it is one inside of `root`.
    pub(crate) fn find(&self, root: &Path, home: Option<&Path>) -> Option<PathBuf> {
        find(&self.path, root, home)
    }
}

/// Returns the file that a path names, if it is a regular one inside of `root` after symbolic links are followed.
pub(crate) fn find(path: &str, root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => root.join(path),
    };
    // Others are not even looked up: on Windows, a path may name a server.
    if !path.starts_with(root) || !fs::metadata(&path).ok()?.is_file() {
        return None;
    }
    let file = fs::canonicalize(&path).ok()?;
    file.starts_with(fs::canonicalize(root).ok()?)
        .then_some(file)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn addresses_keep_path_and_position() {
        let at = |line, column| Some(FilePosition { line, column });
        for position in [None, at(3, None), at(3, Some(7))] {
            let address = FileLink::address("src/a:b.rs", position);
            let link = FileLink::parse(&address).unwrap();
            assert_eq!(
                (link.path.as_str(), link.position),
                ("src/a:b.rs", position)
            );
        }
        assert_eq!(FileLink::parse("https://a/b"), None);
        assert_eq!(FileLink::parse("pi-file:x"), None);
    }

    #[test]
    fn only_files_inside_the_root_are_found() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::File::create(root.join("src/a.rs")).unwrap();
        fs::File::create(home.path().join("secret")).unwrap();
        let absolute = root.join("src/a.rs");
        let cases = [
            ("src/a.rs", true),
            ("./src/../src/a.rs", true),
            ("~/project/src/a.rs", true),
            (absolute.to_str().unwrap(), true),
            ("src", false),
            ("src/b.rs", false),
            ("../secret", false),
            ("~/secret", false),
            ("/etc/hosts", false),
        ];
        for (path, expected) in cases {
            let found = find(path, &root, Some(home.path()));
            assert_eq!(found.is_some(), expected, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_root_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::File::create(home.path().join("secret")).unwrap();
        std::os::unix::fs::symlink(home.path().join("secret"), root.join("a.rs")).unwrap();
        assert_eq!(find("a.rs", &root, None), None);
    }
}
