//! Turns the path a model wrote into a path of the file system.
//!
//! Models write `~`, copy an `@` from the user's mention, paste `file:` URLs and blanks that are not
//! spaces. Names on macOS differ in ways nobody can see; a file to read is looked for under those
//! spellings too ([`spellings`]). Links are not followed here.

use std::path::{Component, Path, PathBuf};

use thiserror::Error;
use url::Url;

/// A path that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// A `file:` URL of another machine, or one that is malformed.
    #[error("\"{0}\" is not the URL of a file on this machine; give a plain path instead")]
    Url(String),
    /// `~` where the home directory is not known.
    #[error(
        "\"{0}\" starts at the home directory, which is not known; give an absolute path instead"
    )]
    Home(String),
}

/// Where relative paths and `~` start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathResolver {
    /// The directory relative paths start at; absolute.
    pub cwd: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}

impl PathResolver {
    /// Starts at a directory, with the home directory of this user.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home: std::env::home_dir(),
        }
    }

    /// Returns the absolute path a model meant, without `.` and `..`.
    pub fn resolve(&self, written: &str) -> Result<PathBuf, PathError> {
        let spaced = with_plain_spaces(written);
        self.resolve_spelled(spaced.strip_prefix('@').unwrap_or(&spaced))
    }

    /// Returns the paths a file to read may stand at, the likeliest first.
    pub fn candidates(&self, written: &str) -> Result<Vec<PathBuf>, PathError> {
        let resolved = self.resolve(written)?;
        let mut candidates = vec![resolved];
        if let Some(text) = candidates.first().and_then(|path| path.to_str()) {
            candidates.extend(spellings(text).into_iter().map(PathBuf::from));
        }
        // A name that really holds an odd blank or begins with `@`.
        candidates.push(self.resolve_spelled(written)?);
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

    fn resolve_spelled(&self, path: &str) -> Result<PathBuf, PathError> {
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

/// Turns the drive paths of Unix shells on Windows (`/c/x`, `/mnt/c/x`, `/cygdrive/c/x`) into ours.
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

/// Removes `.` and resolves `..` by name alone, as shells do.
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

/// Spellings of a name that look the same on macOS: the narrow space before AM and PM in names of
/// screenshots, decomposed accents, the curly apostrophe, and the last two together.
fn spellings(path: &str) -> Vec<String> {
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
    let mut spelled = String::with_capacity(path.len() + 2);
    let mut rest = path;
    while let Some((before, after)) = rest.split_once(' ') {
        let half = after.get(..3).unwrap_or_default();
        let before_half = ["am.", "pm."]
            .iter()
            .any(|name| half.eq_ignore_ascii_case(name));
        spelled.push_str(before);
        spelled.push(if before_half { '\u{202f}' } else { ' ' });
        rest = after;
    }
    spelled.push_str(rest);
    spelled
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn base() -> PathResolver {
        PathResolver {
            cwd: "/project".into(),
            home: Some("/home/me".into()),
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_resolve_as_written() {
        for (written, resolved) in [
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
            assert_eq!(base().resolve(written), Ok(resolved.into()), "{written:?}");
        }
    }

    #[test]
    fn foreign_urls_and_unknown_homes_are_refused() {
        let far = "file://host/share/a";
        assert_eq!(base().resolve(far), Err(PathError::Url(far.to_owned())));
        let homeless = PathResolver {
            home: None,
            ..base()
        };
        assert_eq!(
            homeless.resolve("~/a"),
            Err(PathError::Home("~/a".to_owned()))
        );
    }

    #[cfg(unix)]
    #[test]
    fn invisible_spellings_are_tried_in_turn() {
        let names = |written: &str| -> Vec<String> {
            base()
                .candidates(written)
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
    fn drive_paths_of_unix_shells_are_understood() {
        for (written, expected) in [
            ("/c/x/y", "C:\\x\\y"),
            ("/mnt/d/x", "D:\\x"),
            ("/cygdrive/e", "E:\\"),
            ("/usr/bin", "/usr/bin"),
            ("//server/share", "//server/share"),
        ] {
            assert_eq!(drive_path(written), expected, "{written}");
        }
    }
}
