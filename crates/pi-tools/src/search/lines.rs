//! Searches files for matching lines: local files in parallel, other files through operations.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkState;
use ignore::overrides::{Override, OverrideBuilder};
use parking_lot::Mutex;
use pi_core::{
    FileError, FileKind, FileOperations, FoundLine, FoundLines, LineQuery, MatchedFile, SearchError,
};
use tokio_util::sync::CancellationToken;

use super::check_pattern_length;
use super::walk::{OperationsWalk, Visitor, WalkErrors, local_walk, walk_in_parallel};
use crate::local_files::open_regular;

/// Memory limit per search thread; only needed for very long lines.
const MAX_SEARCHER_BYTES: usize = 256 * 1024 * 1024;

/// Memory limit for a compiled pattern, and for the states that a thread derives from it.
const MAX_MATCHER_BYTES: usize = 16 * 1024 * 1024;

/// Memory used by a line in addition to its text.
const LINE_OVERHEAD: usize = size_of::<FoundLine>();

/// One search and what it found so far.
pub(super) struct LineSearch {
    query: LineQuery,
    matcher: RegexMatcher,
    globs: Override,
    errors: WalkErrors,
    matches: AtomicUsize,
    kept_bytes: AtomicUsize,
}

impl LineSearch {
    pub(super) fn new(query: LineQuery) -> Result<Self, SearchError> {
        Ok(Self {
            matcher: matcher(&query)?,
            globs: globs(query.glob.as_deref(), &query.cwd)?,
            query,
            errors: WalkErrors::default(),
            matches: AtomicUsize::new(0),
            kept_bytes: AtomicUsize::new(0),
        })
    }

    /// Searches the local disk.
    pub(super) fn search_local(self, cancel: &CancellationToken) -> FoundLines {
        let files = if self.query.root.is_dir() {
            self.search_directory(cancel)
        } else {
            self.search_named_file(cancel)
        };
        self.into_found(files)
    }

    /// Searches files through file operations.
    pub(super) async fn search_operations(self, files: &dyn FileOperations) -> FoundLines {
        let root = files.status(&self.query.root).await;
        let found = match root {
            Ok(status) if status.kind == FileKind::Directory => self.search_below(files).await,
            // A file that was requested by name, even if it looks binary.
            Ok(_) | Err(_) => {
                let binary = BinaryDetection::convert(b'\0');
                let found = self.search_contents(files, &self.query.root, binary).await;
                found.into_iter().collect()
            }
        };
        self.into_found(found)
    }

    fn into_found(self, mut files: Vec<MatchedFile>) -> FoundLines {
        pi_protocol::sort_by(&mut files, |one, other| one.path.cmp(&other.path));
        FoundLines {
            files,
            reached_max_bytes: self.is_full(),
            unreadable: self.errors.into_unreadable(),
        }
    }

    fn search_directory(&self, cancel: &CancellationToken) -> Vec<MatchedFile> {
        let files = Mutex::new(Vec::new());
        let mut walk = local_walk(&self.query.root, &self.query.cwd, ".rgignore");
        walk.overrides(self.globs.clone());
        let visitor = || {
            let mut searcher = self.searcher(BinaryDetection::quit(b'\0'));
            let matcher = self.matcher.clone();
            let files = &files;
            Box::new(move |entry: ignore::DirEntry| {
                if self.is_done() {
                    return WalkState::Quit;
                }
                if entry.file_type().is_some_and(|kind| kind.is_file()) {
                    let path = entry.into_path();
                    if let Some(file) = self.search_file(&mut searcher, &matcher, path, cancel) {
                        files.lock().push(file);
                    }
                }
                WalkState::Continue
            }) as Visitor<'_>
        };
        walk_in_parallel(&walk, &self.errors, visitor, cancel);
        files.into_inner()
    }

    /// Searches a local file that was requested by name, even if it looks binary.
    fn search_named_file(&self, cancel: &CancellationToken) -> Vec<MatchedFile> {
        let mut searcher = self.searcher(BinaryDetection::convert(b'\0'));
        let path = self.query.root.clone();
        self.search_file(&mut searcher, &self.matcher, path, cancel)
            .into_iter()
            .collect()
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: PathBuf,
        cancel: &CancellationToken,
    ) -> Option<MatchedFile> {
        let mut collector = MatchCollector::new(self);
        let outcome = open_regular(&path).and_then(|(file, _)| {
            let reader = CancelableReader { file, cancel };
            searcher
                .search_reader(matcher, reader, &mut collector)
                .map_err(FileError::from)
        });
        if let Err(error) = outcome {
            self.errors
                .add(&format_args!("{}: {error}", path.display()));
        }
        collector.into_matches(path)
    }

    async fn search_below(&self, files: &dyn FileOperations) -> Vec<MatchedFile> {
        let mut all = Vec::new();
        let mut walk = OperationsWalk::new(files, &self.query.root, &self.errors);
        while !self.is_done()
            && let Some((path, kind)) = walk.next().await
        {
            if kind == FileKind::File && !self.globs.matched(&path, false).is_ignore() {
                let binary = BinaryDetection::quit(b'\0');
                all.extend(self.search_contents(files, &path, binary).await);
            }
        }
        all
    }

    async fn search_contents(
        &self,
        files: &dyn FileOperations,
        path: &Path,
        binary: BinaryDetection,
    ) -> Option<MatchedFile> {
        let contents = match files.read(path).await {
            Ok(contents) => contents,
            Err(error) => {
                self.errors
                    .add(&format_args!("{}: {error}", path.display()));
                return None;
            }
        };
        let mut collector = MatchCollector::new(self);
        let mut searcher = self.searcher(binary);
        // Searched as a reader, not as a slice, so that binary files are detected like on disk.
        if let Err(error) = searcher.search_reader(&self.matcher, &contents[..], &mut collector) {
            self.errors
                .add(&format_args!("{}: {error}", path.display()));
        }
        collector.into_matches(path.to_owned())
    }

    fn is_done(&self) -> bool {
        self.matches.load(Ordering::Relaxed) >= self.query.limit || self.is_full()
    }

    /// Returns whether no more lines can be kept.
    fn is_full(&self) -> bool {
        self.kept_bytes.load(Ordering::Relaxed) >= self.query.max_bytes
    }

    fn searcher(&self, binary: BinaryDetection) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .binary_detection(binary)
            .heap_limit(Some(MAX_SEARCHER_BYTES))
            .before_context(self.query.context)
            .after_context(self.query.context)
            .build()
    }
}

/// Allows canceling the search of a large file.
struct CancelableReader<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for CancelableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("search canceled"));
        }
        self.file.read(buffer)
    }
}

struct MatchCollector<'a> {
    search: &'a LineSearch,
    /// No further matches are collected; context after the last match still is.
    full: bool,
    matches: Vec<u64>,
    lines: Vec<FoundLine>,
}

impl<'a> MatchCollector<'a> {
    fn new(search: &'a LineSearch) -> Self {
        Self {
            search,
            full: false,
            matches: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn into_matches(self, path: PathBuf) -> Option<MatchedFile> {
        (!self.matches.is_empty()).then_some(MatchedFile {
            path,
            matches: self.matches,
            lines: self.lines,
        })
    }

    /// Adds a line; returns whether to continue.
    fn add_line(&mut self, number: u64, bytes: &[u8]) -> bool {
        let (text, is_truncated) = truncate_line(bytes, self.search.query.max_line_length);
        let size = text.len() + LINE_OVERHEAD;
        self.search.kept_bytes.fetch_add(size, Ordering::Relaxed);
        self.lines.push(FoundLine {
            number,
            text,
            is_truncated,
        });
        if self.search.is_full() {
            return false;
        }
        !self.full
            || self
                .matches
                .last()
                .is_some_and(|last| number < last + self.search.query.context as u64)
    }
}

impl Sink for MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let Some(number) = matched.line_number() else {
            return Ok(true);
        };
        if !self.full {
            let before = self.search.matches.fetch_add(1, Ordering::Relaxed);
            self.full = before.saturating_add(1) >= self.search.query.limit;
            if before < self.search.query.limit {
                self.matches.push(number);
            }
        }
        Ok(self.add_line(number, matched.bytes()))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let Some(number) = line.line_number() else {
            return Ok(true);
        };
        Ok(self.add_line(number, line.bytes()))
    }
}

/// Returns the start of a line, and whether it was truncated.
fn truncate_line(bytes: &[u8], max_length: usize) -> (String, bool) {
    // Enough bytes for the longest shown line, so that a huge line is not copied.
    let limit = bytes.len().min(max_length.saturating_mul(8));
    let prefix = String::from_utf8_lossy(bytes.get(..limit).unwrap_or(bytes));
    let mut text = String::new();
    let mut characters = 0;
    for c in prefix.chars().filter(|c| !matches!(c, '\r' | '\n')) {
        // Counted in UTF-16 code units, like other consumers of the result do.
        characters += c.len_utf16();
        if characters > max_length {
            text.push_str("... [truncated]");
            return (text, true);
        }
        text.push(c);
    }
    (text, false)
}

fn matcher(query: &LineQuery) -> Result<RegexMatcher, SearchError> {
    check_pattern_length(&query.pattern).map_err(SearchError::InvalidPattern)?;
    RegexMatcherBuilder::new()
        .size_limit(MAX_MATCHER_BYTES)
        .dfa_size_limit(MAX_MATCHER_BYTES)
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .line_terminator(Some(b'\n'))
        .ban_byte(Some(b'\0'))
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.is_literal)
        .build(&query.pattern)
        .map_err(|error| SearchError::InvalidPattern(error.to_string()))
}

/// Globs with a slash are relative to the working directory, wherever the search starts.
fn globs(glob: Option<&str>, cwd: &Path) -> Result<Override, SearchError> {
    let invalid_glob = |error: ignore::Error| SearchError::InvalidGlob(error.to_string());
    let mut builder = OverrideBuilder::new(cwd);
    if let Some(glob) = glob.filter(|glob| !glob.is_empty()) {
        check_pattern_length(glob).map_err(SearchError::InvalidGlob)?;
        builder.add(glob).map_err(invalid_glob)?;
    }
    builder.build().map_err(invalid_glob)
}
