//! The options of `rg`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::flags::{Flag, Takes, Word, number, size, split};

use Takes::{Nothing, Value};

/// What the command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Lines,
    FilesWithMatches,
    FilesWithoutMatch,
    Count,
    CountMatches,
    Json,
    /// The files that would be searched.
    Files,
    TypeList,
    Version,
    Help,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

#[derive(Debug, Default)]
pub(super) struct PatternOptions {
    pub(super) patterns: Vec<String>,
    pub(super) pattern_files: Vec<PathBuf>,
    pub(super) case: Case,
    pub(super) fixed: bool,
    pub(super) word: bool,
    pub(super) line: bool,
    pub(super) multiline: bool,
    pub(super) dot_matches_newline: bool,
    pub(super) invert: bool,
    pub(super) crlf: bool,
    pub(super) without_unicode: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeChange {
    Select(String),
    Negate(String),
    Add(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortKey {
    Path,
    Modified,
    Accessed,
    Created,
}

#[derive(Debug, Default)]
pub(super) struct WalkOptions {
    pub(super) hidden: bool,
    pub(super) without_ignore: bool,
    pub(super) without_vcs_ignore: bool,
    pub(super) without_parent_ignore: bool,
    pub(super) without_dot_ignore: bool,
    pub(super) without_global_ignore: bool,
    pub(super) without_git: bool,
    pub(super) follow: bool,
    pub(super) one_file_system: bool,
    pub(super) max_depth: Option<usize>,
    pub(super) max_filesize: Option<u64>,
    /// Globs, and whether each ignores case.
    pub(super) globs: Vec<(String, bool)>,
    pub(super) globs_ignore_case: bool,
    pub(super) types: Vec<TypeChange>,
    pub(super) ignore_files: Vec<PathBuf>,
    /// A key, and whether the order is reversed.
    pub(super) sort: Option<(SortKey, bool)>,
    pub(super) threads: usize,
}

/// Parts of a printed line.
#[derive(Debug, Default)]
pub(super) struct LineOptions {
    pub(super) line_number: Option<bool>,
    pub(super) column: bool,
    pub(super) byte_offset: bool,
    pub(super) filename: Option<bool>,
    pub(super) heading: bool,
    pub(super) only_matching: bool,
    pub(super) replacement: Option<String>,
    pub(super) vimgrep: bool,
    pub(super) trim: bool,
    pub(super) max_columns: Option<u64>,
    pub(super) max_columns_preview: bool,
    pub(super) null: bool,
    pub(super) color: bool,
    pub(super) context_separator: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct OutputOptions {
    pub(super) lines: LineOptions,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) passthru: bool,
    pub(super) max_count: Option<u64>,
    pub(super) include_zero: bool,
    pub(super) quiet: bool,
    pub(super) stats: bool,
    /// Search binary files like text.
    pub(super) text: bool,
    /// Search binary files, and report only that they match.
    pub(super) binary: bool,
    pub(super) without_messages: bool,
}

#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) mode: Mode,
    pub(super) pattern: PatternOptions,
    pub(super) walk: WalkOptions,
    pub(super) output: OutputOptions,
    pub(super) paths: Vec<PathBuf>,
}

impl Options {
    pub(super) fn parse(words: Vec<OsString>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut operands = Vec::new();
        let mut unrestricted = 0;
        for word in split(FLAGS, words)? {
            match word {
                Word::Flag("unrestricted", _) => unrestricted += 1,
                Word::Flag(name, value) => options.apply(name, &value)?,
                Word::Operand(operand) => operands.push(operand),
                Word::Command(..) => {}
            }
        }
        options.walk.without_ignore |= unrestricted >= 1;
        options.walk.hidden |= unrestricted >= 2;
        options.output.binary |= unrestricted >= 3;
        let mut operands = operands.into_iter();
        let has_pattern =
            !options.pattern.patterns.is_empty() || !options.pattern.pattern_files.is_empty();
        let needs_pattern = !matches!(
            options.mode,
            Mode::Files | Mode::TypeList | Mode::Version | Mode::Help
        );
        if needs_pattern && !has_pattern {
            let pattern = operands
                .next()
                .ok_or("no pattern given\nusage: rg [OPTIONS] PATTERN [PATH ...]")?;
            let pattern = pattern.into_string();
            options
                .pattern
                .patterns
                .push(pattern.map_err(|_pattern| "the pattern is not valid UTF-8")?);
        }
        options.paths = operands.map(PathBuf::from).collect();
        Ok(options)
    }

    fn apply(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.mode = match name {
            "files-with-matches" => Mode::FilesWithMatches,
            "files-without-match" => Mode::FilesWithoutMatch,
            "count" => Mode::Count,
            "count-matches" => Mode::CountMatches,
            "json" => Mode::Json,
            "files" => Mode::Files,
            "type-list" => Mode::TypeList,
            "version" => Mode::Version,
            "help" => Mode::Help,
            _ => {
                let is_known = self.pattern.apply(name, value)
                    || self.walk.apply(name, value)?
                    || self.output.apply(name, value)?
                    || self.output.lines.apply(name, value)?;
                debug_assert!(
                    is_known || IGNORED.contains(&name),
                    "--{name} has no effect"
                );
                return Ok(());
            }
        };
        Ok(())
    }
}

impl PatternOptions {
    /// Applies a flag, and returns whether it is one of patterns.
    fn apply(&mut self, name: &str, value: &str) -> bool {
        match name {
            "regexp" => self.patterns.push(value.to_owned()),
            "file" => self.pattern_files.push(value.into()),
            "ignore-case" => self.case = Case::Insensitive,
            "case-sensitive" => self.case = Case::Sensitive,
            "smart-case" => self.case = Case::Smart,
            "fixed-strings" => self.fixed = true,
            "no-fixed-strings" => self.fixed = false,
            "word-regexp" => self.word = true,
            "line-regexp" => self.line = true,
            "multiline" => self.multiline = true,
            "multiline-dotall" => self.dot_matches_newline = true,
            "invert-match" => self.invert = true,
            "crlf" => self.crlf = true,
            "no-unicode" => self.without_unicode = true,
            _ => return false,
        }
        true
    }
}

impl WalkOptions {
    fn apply(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "hidden" => self.hidden = true,
            "no-hidden" => self.hidden = false,
            "no-ignore" => self.without_ignore = true,
            "ignore" => self.without_ignore = false,
            "no-ignore-vcs" => self.without_vcs_ignore = true,
            "no-ignore-parent" => self.without_parent_ignore = true,
            "no-ignore-dot" => self.without_dot_ignore = true,
            "no-ignore-global" => self.without_global_ignore = true,
            "no-require-git" => self.without_git = true,
            "follow" => self.follow = true,
            "one-file-system" => self.one_file_system = true,
            "max-depth" => self.max_depth = Some(number(name, value)?),
            "max-filesize" => self.max_filesize = Some(size(name, value, false)?),
            "glob" => self.globs.push((value.to_owned(), false)),
            "iglob" => self.globs.push((value.to_owned(), true)),
            "glob-case-insensitive" => self.globs_ignore_case = true,
            "type" => self.types.push(TypeChange::Select(value.to_owned())),
            "type-not" => self.types.push(TypeChange::Negate(value.to_owned())),
            "type-add" => self.types.push(TypeChange::Add(value.to_owned())),
            "ignore-file" => self.ignore_files.push(value.into()),
            "sort" => self.sort = sort_key(name, value)?.map(|key| (key, false)),
            "sortr" => self.sort = sort_key(name, value)?.map(|key| (key, true)),
            "sort-files" => self.sort = Some((SortKey::Path, false)),
            "threads" => self.threads = number(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn sort_key(name: &str, value: &str) -> Result<Option<SortKey>, String> {
    Ok(Some(match value {
        "none" => return Ok(None),
        "path" => SortKey::Path,
        "modified" => SortKey::Modified,
        "accessed" => SortKey::Accessed,
        "created" => SortKey::Created,
        _ => {
            return Err(format!(
                "--{name} needs none, path, modified, accessed or created, got {value:?}"
            ));
        }
    }))
}

impl OutputOptions {
    fn apply(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "after-context" => self.after = number(name, value)?,
            "before-context" => self.before = number(name, value)?,
            "context" => {
                self.before = number(name, value)?;
                self.after = self.before;
            }
            "passthru" => self.passthru = true,
            "max-count" => self.max_count = Some(number(name, value)?),
            "include-zero" => self.include_zero = true,
            "quiet" => self.quiet = true,
            "stats" => self.stats = true,
            "text" => self.text = true,
            "binary" => self.binary = true,
            "no-messages" => self.without_messages = true,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl LineOptions {
    fn apply(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "line-number" => self.line_number = Some(true),
            "no-line-number" => self.line_number = Some(false),
            "column" => {
                self.column = true;
                self.line_number.get_or_insert(true);
            }
            "byte-offset" => self.byte_offset = true,
            "with-filename" => self.filename = Some(true),
            "no-filename" => self.filename = Some(false),
            "heading" => self.heading = true,
            "no-heading" => self.heading = false,
            "only-matching" => self.only_matching = true,
            "replace" => self.replacement = Some(value.to_owned()),
            "vimgrep" => {
                self.vimgrep = true;
                self.column = true;
                self.line_number = Some(true);
                self.filename = Some(true);
            }
            "trim" => self.trim = true,
            "max-columns" => self.max_columns = Some(number(name, value)?).filter(|most| *most > 0),
            "max-columns-preview" => self.max_columns_preview = true,
            "null" => self.null = true,
            "pretty" => {
                self.color = true;
                self.heading = true;
                self.line_number = Some(true);
            }
            "color" => self.color = matches!(value, "always" | "ansi"),
            "context-separator" => self.context_separator = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Flags without effect here: defaults, and tuning of the search.
const IGNORED: [&str; 10] = [
    "auto-hybrid-regex",
    "block-buffered",
    "dfa-size-limit",
    "engine",
    "line-buffered",
    "mmap",
    "no-config",
    "no-ignore-messages",
    "no-mmap",
    "regex-size-limit",
];

/// The flags of `rg` that pi has.
pub(super) const FLAGS: &[Flag] = &[
    ("after-context", Some('A'), Value),
    ("auto-hybrid-regex", None, Nothing),
    ("before-context", Some('B'), Value),
    ("binary", None, Nothing),
    ("block-buffered", None, Nothing),
    ("byte-offset", Some('b'), Nothing),
    ("case-sensitive", Some('s'), Nothing),
    ("color", None, Value),
    ("column", None, Nothing),
    ("context", Some('C'), Value),
    ("context-separator", None, Value),
    ("count", Some('c'), Nothing),
    ("count-matches", None, Nothing),
    ("crlf", None, Nothing),
    ("dfa-size-limit", None, Value),
    ("engine", None, Value),
    ("file", Some('f'), Value),
    ("files", None, Nothing),
    ("files-with-matches", Some('l'), Nothing),
    ("files-without-match", None, Nothing),
    ("fixed-strings", Some('F'), Nothing),
    ("follow", Some('L'), Nothing),
    ("glob", Some('g'), Value),
    ("glob-case-insensitive", None, Nothing),
    ("heading", None, Nothing),
    ("help", Some('h'), Nothing),
    ("hidden", Some('.'), Nothing),
    ("iglob", None, Value),
    ("ignore", None, Nothing),
    ("ignore-case", Some('i'), Nothing),
    ("ignore-file", None, Value),
    ("include-zero", None, Nothing),
    ("invert-match", Some('v'), Nothing),
    ("json", None, Nothing),
    ("line-buffered", None, Nothing),
    ("line-number", Some('n'), Nothing),
    ("line-regexp", Some('x'), Nothing),
    ("max-columns", Some('M'), Value),
    ("max-columns-preview", None, Nothing),
    ("max-count", Some('m'), Value),
    ("max-depth", Some('d'), Value),
    ("max-filesize", None, Value),
    ("mmap", None, Nothing),
    ("multiline", Some('U'), Nothing),
    ("multiline-dotall", None, Nothing),
    ("no-config", None, Nothing),
    ("no-filename", Some('I'), Nothing),
    ("no-fixed-strings", None, Nothing),
    ("no-heading", None, Nothing),
    ("no-hidden", None, Nothing),
    ("no-ignore", None, Nothing),
    ("no-ignore-dot", None, Nothing),
    ("no-ignore-global", None, Nothing),
    ("no-ignore-messages", None, Nothing),
    ("no-ignore-parent", None, Nothing),
    ("no-ignore-vcs", None, Nothing),
    ("no-line-number", Some('N'), Nothing),
    ("no-messages", None, Nothing),
    ("no-mmap", None, Nothing),
    ("no-require-git", None, Nothing),
    ("no-unicode", None, Nothing),
    ("null", Some('0'), Nothing),
    ("one-file-system", None, Nothing),
    ("only-matching", Some('o'), Nothing),
    ("passthru", None, Nothing),
    ("pretty", Some('p'), Nothing),
    ("quiet", Some('q'), Nothing),
    ("regex-size-limit", None, Value),
    ("regexp", Some('e'), Value),
    ("replace", Some('r'), Value),
    ("smart-case", Some('S'), Nothing),
    ("sort", None, Value),
    ("sort-files", None, Nothing),
    ("sortr", None, Value),
    ("stats", None, Nothing),
    ("text", Some('a'), Nothing),
    ("threads", Some('j'), Value),
    ("trim", None, Nothing),
    ("type", Some('t'), Value),
    ("type-add", None, Value),
    ("type-list", None, Nothing),
    ("type-not", Some('T'), Value),
    ("unrestricted", Some('u'), Nothing),
    ("version", Some('V'), Nothing),
    ("vimgrep", None, Nothing),
    ("with-filename", Some('H'), Nothing),
    ("word-regexp", Some('w'), Nothing),
];
