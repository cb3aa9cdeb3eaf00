//! Which entries are results.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{FileType, Metadata};

use globset::GlobBuilder;
use ignore::DirEntry;
use regex::bytes::{Regex, RegexBuilder};

use super::options::{Kind, MatchOptions, SizeLimit, Syntax};

/// The conditions of a command line.
pub(super) struct Filter<'options> {
    options: &'options MatchOptions,
    patterns: Vec<Regex>,
}

impl<'options> Filter<'options> {
    pub(super) fn new(options: &'options MatchOptions) -> Result<Self, String> {
        let has_uppercase = options
            .patterns
            .iter()
            .any(|pattern| pattern.chars().any(char::is_uppercase));
        let ignores_case = !options.case_sensitive.unwrap_or(has_uppercase);
        let patterns = options.patterns.iter().map(|pattern| {
            let source = match options.syntax {
                Syntax::Regex => pattern.clone(),
                Syntax::Fixed => regex::escape(pattern),
                Syntax::Glob => {
                    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
                    glob.map_err(|error| error.to_string())?.regex().to_owned()
                }
            };
            let regex = RegexBuilder::new(&source)
                .case_insensitive(ignores_case)
                .dot_matches_new_line(true)
                .build();
            regex.map_err(|error| error.to_string())
        });
        Ok(Self {
            options,
            patterns: patterns.collect::<Result<_, String>>()?,
        })
    }

    pub(super) fn accepts(&self, entry: &DirEntry) -> bool {
        let options = self.options;
        // The directories of the command line are where the search starts, not results.
        if entry.depth() == 0 || entry.depth() < options.min_depth {
            return false;
        }
        let Some(kind) = entry.file_type() else {
            return false;
        };
        let searched: Cow<'_, OsStr> = if options.full_path {
            let absolute = std::path::absolute(entry.path());
            absolute.map_or_else(
                |_| Cow::Borrowed(entry.path().as_os_str()),
                |path| Cow::Owned(path.into_os_string()),
            )
        } else {
            Cow::Borrowed(entry.file_name())
        };
        let text = searched.as_encoded_bytes();
        self.patterns.iter().all(|pattern| pattern.is_match(text))
            && has_extension(entry.file_name(), &options.extensions)
            && has_kind(entry, kind, &options.kinds)
            && self.has_size_and_time(entry, kind)
    }

    fn has_size_and_time(&self, entry: &DirEntry, kind: FileType) -> bool {
        let options = self.options;
        if options.sizes.is_empty()
            && options.changed_after.is_none()
            && options.changed_before.is_none()
        {
            return true;
        }
        let Ok(metadata) = entry.metadata() else {
            return false;
        };
        let size = metadata.len();
        let is_size = options.sizes.iter().all(|limit| match *limit {
            SizeLimit::AtLeast(least) => size >= least,
            SizeLimit::AtMost(most) => size <= most,
            SizeLimit::Exactly(exact) => size == exact,
        });
        let changed = metadata.modified().ok();
        let is_after = options
            .changed_after
            .is_none_or(|limit| changed.is_some_and(|changed| changed >= limit));
        let is_before = options
            .changed_before
            .is_none_or(|limit| changed.is_some_and(|changed| changed <= limit));
        (options.sizes.is_empty() || kind.is_file()) && is_size && is_after && is_before
    }
}

fn has_extension(name: &OsStr, extensions: &[String]) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    extensions.is_empty()
        || extensions.iter().any(|extension| {
            name.strip_suffix(extension.as_str())
                .is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
        })
}

fn has_kind(entry: &DirEntry, kind: FileType, wanted: &[Kind]) -> bool {
    let metadata = || entry.metadata().ok();
    wanted.is_empty()
        || wanted.iter().any(|wanted| match wanted {
            Kind::File => kind.is_file(),
            Kind::Directory => kind.is_dir(),
            Kind::Symlink => kind.is_symlink(),
            Kind::Executable => {
                kind.is_file() && metadata().is_some_and(|data| is_executable(&data))
            }
            Kind::Empty if kind.is_dir() => {
                std::fs::read_dir(entry.path()).is_ok_and(|mut entries| entries.next().is_none())
            }
            Kind::Empty => kind.is_file() && metadata().is_some_and(|data| data.len() == 0),
            Kind::Socket | Kind::Pipe => is_special(kind, *wanted),
        })
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_special(kind: FileType, wanted: Kind) -> bool {
    use std::os::unix::fs::FileTypeExt as _;

    match wanted {
        Kind::Socket => kind.is_socket(),
        Kind::Pipe => kind.is_fifo(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_special(_kind: FileType, _wanted: Kind) -> bool {
    false
}
