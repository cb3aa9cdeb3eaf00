//! Patterns of paths, and the paths of calls.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::rule::RuleError;

/// A pattern such as `/etc/**`. Relative ones start at the working directory, `**/…` matches in every directory.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern(GlobMatcher);

/// Where relative paths start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Directories<'paths> {
    pub(crate) working: &'paths Path,
    pub(crate) home: Option<&'paths Path>,
}

impl PathPattern {
    pub(crate) fn parse(text: &str, directories: Directories<'_>) -> Result<Self, RuleError> {
        let text = if text.starts_with("**") {
            text.to_owned()
        } else {
            let prefix = literal_prefix(text);
            let base = directories.resolve(&prefix.0);
            let base = globset::escape(&base.to_string_lossy());
            match prefix.1 {
                "" => base,
                rest => format!("{}/{rest}", base.trim_end_matches('/')),
            }
        };
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .build()
            .map_err(|error| RuleError::Glob(error.to_string()))?;
        Ok(Self(glob.compile_matcher()))
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }
}

/// Splits a pattern into the directories without wildcards and the rest.
fn literal_prefix(text: &str) -> (PathBuf, &str) {
    let wildcard = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
    if wildcard == text.len() {
        return (PathBuf::from(text), "");
    }
    let (prefix, rest) = match text.get(..wildcard).and_then(|text| text.rfind('/')) {
        Some(slash) => text.split_at(slash + 1),
        None => ("", text),
    };
    (PathBuf::from(prefix), rest)
}

impl Directories<'_> {
    /// Makes a path absolute, without `.` and `..`.
    pub(crate) fn resolve(self, path: &Path) -> PathBuf {
        let path = match (path.strip_prefix("~"), self.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => self.working.join(path),
        };
        let mut resolved = PathBuf::new();
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => {
                    resolved.pop();
                }
                _ => resolved.push(component),
            }
        }
        resolved
    }
}

/// Follows the links of a path, whose last parts need not exist.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for existing in path.ancestors() {
        if let Ok(mut real) = existing.canonicalize() {
            real.extend(missing.iter().rev());
            return real;
        }
        missing.extend(existing.file_name());
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories() -> Directories<'static> {
        Directories {
            working: Path::new("/project"),
            home: Some(Path::new("/home/a")),
        }
    }

    #[test]
    fn patterns_start_at_a_directory() {
        for (pattern, path, expected) in [
            ("/etc/**", "/etc/passwd", true),
            ("/etc/**", "/etc/a/b", true),
            ("/etc/**", "/etcetera", false),
            ("src/**", "/project/src/a.rs", true),
            ("src/*.rs", "/project/src/a/b.rs", false),
            ("./src/*", "/project/src/a.rs", true),
            ("*.md", "/project/a.md", true),
            ("*.md", "/project/a/a.md", false),
            ("**/.env", "/project/a/.env", true),
            ("**/.env", "/other/.env", true),
            ("~/.ssh/**", "/home/a/.ssh/id", true),
            ("../other/*", "/other/x", true),
            ("/etc/passwd", "/etc/passwd", true),
        ] {
            let glob = PathPattern::parse(pattern, directories()).unwrap();
            assert_eq!(glob.matches(Path::new(path)), expected, "{pattern} {path}");
        }
        assert!(PathPattern::parse("a/[", directories()).is_err());
    }

    #[test]
    fn paths_are_absolute_and_without_dots() {
        for (path, expected) in [
            ("a/./b/../c", "/project/a/c"),
            ("../../..", "/"),
            ("~/x", "/home/a/x"),
            ("/a//b", "/a/b"),
        ] {
            assert_eq!(directories().resolve(Path::new(path)), Path::new(expected));
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        assert_eq!(
            real_path(&root.join("link/new/file")),
            Path::new("/etc/new/file")
        );
    }
}
