//! Resolves paths written by models. Models write `~`, copy an `@` from the user's mention, and
//! paste `file:` URLs and Unicode spaces. File names on macOS may differ in invisible ways, so
//! a file to read is also searched under [`name_variants`]. Symlinks are not followed here.

use std::path::{Component, Path, PathBuf};

use pi_core::ToolContext;
use thiserror::Error;
use url::Url;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// A malformed `file:` URL, or one with another host.
    #[error("\"{0}\" is not a valid local file URL; use a plain path")]
    Url(String),
    #[error("cannot resolve \"{0}\": the home directory is unknown; use an absolute path")]
    Home(String),
}

/// Resolves relative paths and `~`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathResolver {
    /// Base of relative paths; absolute.
    pub cwd: PathBuf,
    /// What `~` expands to.
    pub home: Option<PathBuf>,
}

impl PathResolver {
    /// Resolves the paths of a tool call.
    pub(crate) fn of(cx: &ToolContext) -> Self {
        Self {
            cwd: cx.session.cwd().to_owned(),
            home: cx.env.home.clone(),
        }
    }

    /// Uses the given working directory and the current user's home directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home: std::env::home_dir(),
        }
    }

    /// Returns the absolute path that the model meant, without `.` and `..`.
    pub fn resolve(&self, raw: &str) -> Result<PathBuf, PathError> {
        let spaced = with_plain_spaces(raw);
        self.resolve_literal(spaced.strip_prefix('@').unwrap_or(&spaced))
    }

    /// Returns the possible paths of a file to read, most likely first.
    pub fn candidates(&self, raw: &str) -> Result<Vec<PathBuf>, PathError> {
        let resolved = self.resolve(raw)?;
        let mut candidates = vec![resolved];
        if let Some(text) = candidates.first().and_then(|path| path.to_str()) {
            candidates.extend(name_variants(text).into_iter().map(PathBuf::from));
        }
        // The name may really contain unusual spaces or start with `@`.
        candidates.push(self.resolve_literal(raw)?);
        let mut seen = Vec::with_capacity(candidates.len());
        candidates.retain(|path| {
            let new = !seen.contains(path);
            if new {
                seen.push(path.clone());
            }
            new
        });
        Ok(candidates)
    }

    fn resolve_literal(&self, path: &str) -> Result<PathBuf, PathError> {
        #[cfg(windows)]
        let drive = drive_path(path);
        #[cfg(windows)]
        let path = drive.as_str();

        if path.starts_with("file://") {
            return Url::parse(path)
                .ok()
                .and_then(|url| url.to_file_path().ok())
                .map(|path| without_dots(&path))
                .ok_or_else(|| PathError::Url(path.to_owned()));
        }
        let Some(below_home) = below_home(path) else {
            return Ok(without_dots(&self.cwd.join(path)));
        };
        let home = self
            .home
            .as_ref()
            .ok_or_else(|| PathError::Home(path.to_owned()))?;
        Ok(without_dots(&home.join(below_home)))
    }
}

fn below_home(path: &str) -> Option<&str> {
    let rest = path.strip_prefix('~')?;
    if rest.is_empty() {
        return Some(rest);
    }
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    rest.strip_prefix(separators)
        .map(|rest| rest.trim_start_matches(separators))
}

/// Converts the drive paths of Unix shells on Windows (`/c/x`, `/mnt/c/x`, `/cygdrive/c/x`).
#[cfg(any(windows, test))]
fn drive_path(path: &str) -> String {
    let shell_path = path
        .strip_prefix("/mnt/")
        .or_else(|| path.strip_prefix("/cygdrive/"))
        .or_else(|| path.strip_prefix('/'))
        .filter(|_| !path.starts_with("//") && !path.contains('\\'));
    let (drive, rest) = match shell_path.map(|path| path.split_once('/').unwrap_or((path, ""))) {
        Some((drive, rest))
            if drive.len() == 1 && drive.bytes().all(|b| b.is_ascii_alphabetic()) =>
        {
            (drive, rest)
        }
        _ => return path.to_owned(),
    };
    format!(
        "{}:\\{}",
        drive.to_ascii_uppercase(),
        rest.replace('/', "\\")
    )
}

fn with_plain_spaces(path: &str) -> String {
    path.chars()
        .map(|c| match c {
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
            other => other,
        })
        .collect()
}

/// Removes `.` and resolves `..` lexically.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                clean.push(component);
            }
        }
    }
    clean
}

/// Returns variants of a name that look the same on macOS: the narrow space before AM and PM in
/// screenshot names, decomposed accents, the typographic apostrophe, and the last two combined.
fn name_variants(path: &str) -> Vec<String> {
    let decomposed = icu_normalizer::DecomposingNormalizerBorrowed::new_nfd()
        .normalize(path)
        .into_owned();
    vec![
        with_narrow_space(path),
        decomposed.clone(),
        with_curly_apostrophe(path),
        with_curly_apostrophe(&decomposed),
    ]
}

fn with_curly_apostrophe(path: &str) -> String {
    path.replace('\'', "\u{2019}")
}

fn with_narrow_space(path: &str) -> String {
    let mut variant = String::with_capacity(path.len() + 2);
    let mut rest = path;
    while let Some((before, after)) = rest.split_once(' ') {
        let suffix = after.get(..3).unwrap_or_default();
        let is_time = ["am.", "pm."]
            .iter()
            .any(|name| suffix.eq_ignore_ascii_case(name));
        variant.push_str(before);
        variant.push(if is_time { '\u{202f}' } else { ' ' });
        rest = after;
    }
    variant.push_str(rest);
    variant
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn resolver() -> PathResolver {
        PathResolver {
            cwd: "/project".into(),
            home: Some("/home/me".into()),
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_are_resolved() {
        for (raw, resolved) in [
            ("a.txt", "/project/a.txt"),
            ("", "/project"),
            (".", "/project"),
            ("./x/../a.txt", "/project/a.txt"),
            ("../a.txt", "/a.txt"),
            ("../../../a.txt", "/a.txt"),
            ("dir/", "/project/dir"),
            ("/abs/a", "/abs/a"),
            ("~", "/home/me"),
            ("~/a", "/home/me/a"),
            ("~//a", "/home/me/a"),
            ("~a", "/project/~a"),
            ("@a.txt", "/project/a.txt"),
            ("@~/a.txt", "/home/me/a.txt"),
            ("@@a.txt", "/project/@a.txt"),
            ("a\u{a0}b\u{202f}c", "/project/a b c"),
            ("file:///tmp/a%20b", "/tmp/a b"),
            ("line\nbreak", "/project/line\nbreak"),
        ] {
            assert_eq!(resolver().resolve(raw), Ok(resolved.into()), "{raw:?}");
        }
    }

    #[test]
    fn remote_urls_and_unknown_homes_are_rejected() {
        let remote = "file://host/share/a";
        assert_eq!(
            resolver().resolve(remote),
            Err(PathError::Url(remote.to_owned()))
        );
        let without_home = PathResolver {
            home: None,
            ..resolver()
        };
        assert_eq!(
            without_home.resolve("~/a"),
            Err(PathError::Home("~/a".to_owned()))
        );
    }

    #[cfg(unix)]
    #[test]
    fn name_variants_are_tried_in_order() {
        let names = |raw: &str| -> Vec<String> {
            resolver()
                .candidates(raw)
                .unwrap()
                .iter()
                .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names("a.txt"), ["a.txt"]);
        assert_eq!(
            names("Shot 9.41 AM.png"),
            ["Shot 9.41 AM.png", "Shot 9.41\u{202f}AM.png"]
        );
        assert_eq!(
            names("d'é"),
            ["d'é", "d'e\u{301}", "d\u{2019}é", "d\u{2019}e\u{301}"]
        );
        assert_eq!(names("@a\u{a0}b"), ["a b", "@a\u{a0}b"]);
    }

    #[test]
    fn drive_paths_of_unix_shells_are_converted() {
        for (raw, expected) in [
            ("/c/x/y", "C:\\x\\y"),
            ("/mnt/d/x", "D:\\x"),
            ("/cygdrive/e", "E:\\"),
            ("/usr/bin", "/usr/bin"),
            ("//server/share", "//server/share"),
        ] {
            assert_eq!(drive_path(raw), expected, "{raw}");
        }
    }
}
