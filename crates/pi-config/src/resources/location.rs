//! Resolves paths from settings and the command line, and formats them for pattern matching.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use pi_env::Env;

use crate::expand_home;

/// Resolves user input to an absolute path: surrounding whitespace is trimmed, `~` is the home
/// directory, `file://` URLs are accepted, and relative paths start at `base`.
pub(crate) fn resolve(input: &str, base: &Path, env: &Env) -> PathBuf {
    let input = input.trim();
    let path = match input.strip_prefix("file://") {
        Some(rest) => PathBuf::from(percent_decode(
            rest.strip_prefix("localhost").unwrap_or(rest),
        )),
        None => expand_home(input, env),
    };
    normalize(&base.join(path))
}

/// Makes a path absolute, relative to the process's working directory.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    normalize(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// Removes `.` and `..` lexically, as Node's `resolve` does; symlinks are not followed.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !result.pop() {
                    result.push(component);
                }
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                result.push(component);
            }
        }
    }
    result
}

/// Resolves all symlinks; a path that does not exist is returned unchanged.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A cache of canonical paths. Files share most of their ancestors, and canonicalizing each path from the
/// root would cost more than reading the file.
#[derive(Debug, Default)]
pub(crate) struct RealPaths(HashMap<PathBuf, PathBuf>);

impl RealPaths {
    /// Resolves all symlinks of a path without `..`; a path that does not exist is returned unchanged.
    pub(crate) fn of(&mut self, path: &Path) -> PathBuf {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if is_no_link(path) => self.of(parent).join(name),
            _ => canonical(path),
        };
        self.0.insert(path.to_owned(), real.clone());
        real
    }
}

fn is_no_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| !metadata.is_symlink())
}

/// Formats a path with forward slashes.
pub(crate) fn slashed(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}

/// Formats `path` relative to `base` with forward slashes; may start with `..`.
pub(crate) fn relative(base: &Path, path: &Path) -> String {
    let mut from = base.components().peekable();
    let mut to = path.components().peekable();
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let mut result = PathBuf::new();
    for _ in from {
        result.push("..");
    }
    for component in to {
        result.push(component);
    }
    slashed(&result)
}

/// Decodes `%xx`; invalid sequences are kept.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let decoded = (byte == b'%')
            .then(|| {
                let mut ahead = rest.clone();
                let high = char::from(ahead.next()?).to_digit(16)?;
                let low = char::from(ahead.next()?).to_digit(16)?;
                let value = u8::try_from(high * 16 + low).ok()?;
                rest = ahead;
                Some(value)
            })
            .flatten();
        bytes.push(decoded.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn paths_are_resolved() {
        let env = Env::fixed([("HOME", "/home/u")]);
        let base = Path::new("/srv/project");
        for (input, expected) in [
            ("a/b", "/srv/project/a/b"),
            ("  ./a ", "/srv/project/a"),
            ("../x", "/srv/x"),
            ("~/x", "/home/u/x"),
            ("/abs/./y/..", "/abs"),
            ("file:///tmp/a%20b", "/tmp/a b"),
            ("file:///tmp/a%zz", "/tmp/a%zz"),
            ("../../../..", "/"),
        ] {
            assert_eq!(resolve(input, base, &env), Path::new(expected), "{input}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn cached_paths_are_canonical() {
        let home = pi_test_support::TempHome::new();
        home.write("a/b/file", "");
        let root = home.path();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        std::os::unix::fs::symlink("b/file", root.join("a/inner")).unwrap();
        let mut paths = RealPaths::default();
        for path in [
            "a/b/file",
            "link/b/file",
            "link/inner",
            "a/inner",
            "link",
            "gone/x",
        ] {
            let path = root.join(path);
            assert_eq!(paths.of(&path), canonical(&path));
        }
    }

    #[test]
    fn relative_paths_use_parent_components() {
        for (base, path, expected) in [
            ("/a/b", "/a/b/c/d.md", "c/d.md"),
            ("/a/b", "/a/x", "../x"),
            ("/a/b", "/a/b", ""),
        ] {
            assert_eq!(relative(Path::new(base), Path::new(path)), expected);
        }
    }
}
