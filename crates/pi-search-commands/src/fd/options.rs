//! The options of `fd`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::{Span, SpanRelativeTo, Timestamp, Zoned, civil::DateTime, tz::TimeZone};

use crate::flags::{Flag, Takes, Word, number, size, split};

use Takes::{Command, Nothing, OptionalValue, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
    Executable,
    Empty,
    Socket,
    Pipe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizeLimit {
    AtLeast(u64),
    AtMost(u64),
    Exactly(u64),
}

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Syntax {
    #[default]
    Regex,
    Glob,
    Fixed,
}

#[derive(Debug, Default)]
pub(super) struct MatchOptions {
    /// All of them match.
    pub(super) patterns: Vec<String>,
    pub(super) syntax: Syntax,
    /// `None` ignores case unless a pattern has an uppercase letter.
    pub(super) case_sensitive: Option<bool>,
    pub(super) full_path: bool,
    pub(super) kinds: Vec<Kind>,
    pub(super) extensions: Vec<String>,
    pub(super) sizes: Vec<SizeLimit>,
    pub(super) changed_after: Option<SystemTime>,
    pub(super) changed_before: Option<SystemTime>,
    pub(super) min_depth: usize,
}

#[derive(Debug, Default)]
pub(super) struct WalkOptions {
    pub(super) hidden: bool,
    pub(super) without_ignore: bool,
    pub(super) without_vcs_ignore: bool,
    pub(super) without_parent_ignore: bool,
    pub(super) without_git: bool,
    pub(super) follow: bool,
    pub(super) one_file_system: bool,
    pub(super) max_depth: Option<usize>,
    pub(super) excluded: Vec<String>,
    pub(super) ignore_files: Vec<PathBuf>,
}

#[derive(Debug, Default)]
pub(super) struct OutputOptions {
    pub(super) absolute: bool,
    pub(super) null: bool,
    pub(super) quiet: bool,
    pub(super) max_results: Option<usize>,
    pub(super) keeps_prefix: Option<bool>,
    /// Runs for each result.
    pub(super) command: Option<Vec<OsString>>,
    /// Runs once, with all results.
    pub(super) batch_command: Option<Vec<OsString>>,
    pub(super) help: bool,
    pub(super) version: bool,
}

#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) matching: MatchOptions,
    pub(super) walk: WalkOptions,
    pub(super) output: OutputOptions,
    pub(super) paths: Vec<PathBuf>,
    pub(super) base_directory: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(words: Vec<OsString>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut operands = Vec::new();
        let mut has_search_paths = false;
        for word in split(FLAGS, words)? {
            match word {
                Word::Operand(operand) => operands.push(operand),
                Word::Command("exec", command) => options.output.command = Some(command),
                Word::Command(_, command) => options.output.batch_command = Some(command),
                Word::Flag("base-directory", value) => options.base_directory = Some(value.into()),
                Word::Flag("search-path", value) => {
                    has_search_paths = true;
                    options.paths.push(value.into());
                }
                Word::Flag(name, value) => {
                    let is_known = options.matching.apply(name, &value)?
                        || options.walk.apply(name, &value)?
                        || options.output.apply(name, &value)?;
                    debug_assert!(
                        is_known || IGNORED.contains(&name),
                        "--{name} has no effect"
                    );
                }
            }
        }
        let mut operands = operands.into_iter();
        if let Some(pattern) = operands.next() {
            let pattern = pattern.into_string();
            let pattern = pattern.map_err(|_pattern| "the pattern is not valid UTF-8")?;
            if pattern.contains('/') && !options.matching.full_path {
                return Err(format!(
                    "the pattern {pattern:?} contains '/', but only file names are matched; use --full-path, or fd . {pattern}"
                ));
            }
            options.matching.patterns.insert(0, pattern);
        }
        let paths: Vec<PathBuf> = operands.map(PathBuf::from).collect();
        if has_search_paths && !paths.is_empty() {
            return Err("--search-path cannot be combined with paths".to_owned());
        }
        options.paths.extend(paths);
        Ok(options)
    }
}

impl MatchOptions {
    /// Applies a flag, and returns whether it is one of matching.
    fn apply(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "and" => self.patterns.push(value.to_owned()),
            "glob" => self.syntax = Syntax::Glob,
            "regex" => self.syntax = Syntax::Regex,
            "fixed-strings" => self.syntax = Syntax::Fixed,
            "ignore-case" => self.case_sensitive = Some(false),
            "case-sensitive" => self.case_sensitive = Some(true),
            "full-path" => self.full_path = true,
            "type" => self.kinds.push(kind(value)?),
            "extension" => {
                let extension = value.trim_start_matches('.').to_lowercase();
                self.extensions.push(extension);
            }
            "size" => self.sizes.push(size_limit(value)?),
            "changed-within" => self.changed_after = Some(time(name, value)?),
            "changed-before" => self.changed_before = Some(time(name, value)?),
            "min-depth" | "exact-depth" => self.min_depth = number(name, value)?,
            _ => return Ok(false),
        }
        // An exact depth is also the greatest one.
        Ok(name != "exact-depth")
    }
}

fn kind(value: &str) -> Result<Kind, String> {
    Ok(match value {
        "f" | "file" => Kind::File,
        "d" | "dir" | "directory" => Kind::Directory,
        "l" | "symlink" => Kind::Symlink,
        "x" | "executable" => Kind::Executable,
        "e" | "empty" => Kind::Empty,
        "s" | "socket" => Kind::Socket,
        "p" | "pipe" => Kind::Pipe,
        _ => return Err(format!("--type needs f, d, l, x, e, s or p, got {value:?}")),
    })
}

fn size_limit(value: &str) -> Result<SizeLimit, String> {
    let (limit, text): (fn(u64) -> SizeLimit, &str) = match value.split_at_checked(1) {
        Some(("+", text)) => (SizeLimit::AtLeast, text),
        Some(("-", text)) => (SizeLimit::AtMost, text),
        _ => (SizeLimit::Exactly, value),
    };
    size("size", text, true).map(limit)
}

/// Parses a duration before now (`2d`, `3weeks`), a date, or a date and time.
fn time(name: &str, value: &str) -> Result<SystemTime, String> {
    if let Some(seconds) = value.strip_prefix('@') {
        let seconds = number(name, seconds)?;
        return Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    }
    if let Ok(span) = value.parse::<Span>() {
        let now = SpanRelativeTo::days_are_24_hours();
        let days = span.total((jiff::Unit::Second, now)).ok();
        let seconds = days.or_else(|| {
            let zoned = Zoned::now();
            span.total((jiff::Unit::Second, &zoned)).ok()
        });
        let ago = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = ago.and_then(|ago| SystemTime::now().checked_sub(ago));
        return time.ok_or_else(|| format!("--{name}: {value} is too large"));
    }
    let timestamp = value.parse::<Timestamp>().or_else(|error| {
        let local = value.parse::<DateTime>().map_err(|_not_local| error)?;
        Ok::<_, jiff::Error>(local.to_zoned(TimeZone::system())?.timestamp())
    });
    timestamp
        .map(SystemTime::from)
        .map_err(|_error| format!("--{name} needs a duration like 2d or a date, got {value:?}"))
}

impl WalkOptions {
    fn apply(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "hidden" => self.hidden = true,
            "no-ignore" => self.without_ignore = true,
            "no-ignore-vcs" => self.without_vcs_ignore = true,
            "no-ignore-parent" => self.without_parent_ignore = true,
            "no-require-git" => self.without_git = true,
            "unrestricted" => {
                self.hidden = true;
                self.without_ignore = true;
            }
            "follow" => self.follow = true,
            "one-file-system" => self.one_file_system = true,
            "max-depth" | "exact-depth" => self.max_depth = Some(number(name, value)?),
            "exclude" => self.excluded.push(value.to_owned()),
            "ignore-file" => self.ignore_files.push(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl OutputOptions {
    fn apply(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "absolute-path" => self.absolute = true,
            "relative-path" => self.absolute = false,
            "print0" => self.null = true,
            "quiet" => self.quiet = true,
            "max-results" => self.max_results = Some(number(name, value)?).filter(|most| *most > 0),
            "max-one-result" => self.max_results = Some(1),
            "strip-cwd-prefix" => {
                self.keeps_prefix = match value {
                    "" | "always" => Some(false),
                    "never" => Some(true),
                    _ => None,
                }
            }
            "help" => self.help = true,
            "version" => self.version = true,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Flags without effect here: defaults, and tuning of the search.
const IGNORED: [&str; 3] = ["color", "threads", "show-errors"];

/// The flags of `fd` that pi has.
pub(super) const FLAGS: &[Flag] = &[
    ("absolute-path", Some('a'), Nothing),
    ("and", None, Value),
    ("base-directory", Some('C'), Value),
    ("case-sensitive", Some('s'), Nothing),
    ("changed-before", None, Value),
    ("changed-within", None, Value),
    ("color", Some('c'), Value),
    ("exact-depth", None, Value),
    ("exclude", Some('E'), Value),
    ("exec", Some('x'), Command),
    ("exec-batch", Some('X'), Command),
    ("extension", Some('e'), Value),
    ("fixed-strings", Some('F'), Nothing),
    ("follow", Some('L'), Nothing),
    ("full-path", Some('p'), Nothing),
    ("glob", Some('g'), Nothing),
    ("help", Some('h'), Nothing),
    ("hidden", Some('H'), Nothing),
    ("ignore-case", Some('i'), Nothing),
    ("ignore-file", None, Value),
    ("max-depth", Some('d'), Value),
    ("max-one-result", Some('1'), Nothing),
    ("max-results", None, Value),
    ("min-depth", None, Value),
    ("no-ignore", Some('I'), Nothing),
    ("no-ignore-parent", None, Nothing),
    ("no-ignore-vcs", None, Nothing),
    ("no-require-git", None, Nothing),
    ("one-file-system", None, Nothing),
    ("print0", Some('0'), Nothing),
    ("quiet", Some('q'), Nothing),
    ("regex", None, Nothing),
    ("relative-path", None, Nothing),
    ("search-path", None, Value),
    ("show-errors", None, Nothing),
    ("size", Some('S'), Value),
    ("strip-cwd-prefix", None, OptionalValue),
    ("threads", Some('j'), Value),
    ("type", Some('t'), Value),
    ("unrestricted", Some('u'), Nothing),
    ("version", Some('V'), Nothing),
];
