//! Searches files for matching lines: local files in parallel, other files through operations.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkState;
use ignore::overrides::Override;
use tokio_util::sync::CancellationToken;

use super::MAX_LINE_CHARACTERS;
use crate::operations::{FileKind, FileOperations};
use crate::walk::{OperationsWalk, WalkErrors, local_walk, walk_in_parallel};

/// Memory limit per search thread; only needed for very long lines.
const MAX_SEARCHER_BYTES: usize = 256 * 1024 * 1024;

/// Limit for all kept lines; the requested context is unlimited.
pub(super) const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;

/// Memory used by a line in addition to its text.
const LINE_OVERHEAD: usize = size_of::<GrepLine>();

pub(super) struct GrepSearch {
    pub(super) matcher: RegexMatcher,
    pub(super) globs: Override,
    pub(super) cwd: PathBuf,
    /// Number of context lines around each match.
    pub(super) context: usize,
    /// Number of matches after which the search stops.
    pub(super) limit: usize,
    pub(super) errors: WalkErrors,
    pub(super) totals: MatchTotals,
}

/// Totals over all files so far.
#[derive(Debug, Default)]
pub(super) struct MatchTotals {
    matches: AtomicUsize,
    kept_bytes: AtomicUsize,
}

impl MatchTotals {
    /// Returns whether no more lines can be kept.
    pub(super) fn is_full(&self) -> bool {
        self.kept_bytes.load(Ordering::Relaxed) >= MAX_KEPT_BYTES
    }
}

/// The matching lines of a file, in order, and their context.
#[derive(Debug)]
pub(super) struct FileMatches {
    pub(super) path: PathBuf,
    /// Line numbers of the matches.
    pub(super) matches: Vec<u64>,
    pub(super) lines: Vec<GrepLine>,
}

#[derive(Debug)]
pub(super) struct GrepLine {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) truncated: bool,
}

impl FileMatches {
    /// Returns a line and its context.
    pub(super) fn with_context(
        &self,
        number: u64,
        context: usize,
    ) -> impl Iterator<Item = &GrepLine> {
        let first = number.saturating_sub(context as u64);
        let last = number.saturating_add(context as u64);
        let start = self.lines.partition_point(|line| line.number < first);
        self.lines
            .iter()
            .skip(start)
            .take_while(move |line| line.number <= last)
    }
}

impl GrepSearch {
    /// Searches a local directory.
    pub(super) fn search_directory(
        &self,
        root: &Path,
        cancel: &CancellationToken,
    ) -> Vec<FileMatches> {
        let files = Mutex::new(Vec::new());
        let mut walk = local_walk(root, &self.cwd, ".rgignore");
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
                        files
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(file);
                    }
                }
                WalkState::Continue
            }) as crate::walk::Visitor<'_>
        };
        walk_in_parallel(&walk, &self.errors, visitor, cancel);
        files.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches a local file that was requested by name, even if it looks binary.
    pub(super) fn search_named_file(
        &self,
        path: &Path,
        cancel: &CancellationToken,
    ) -> Vec<FileMatches> {
        let mut searcher = self.searcher(BinaryDetection::convert(b'\0'));
        self.search_file(&mut searcher, &self.matcher, path.to_owned(), cancel)
            .into_iter()
            .collect()
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: PathBuf,
        cancel: &CancellationToken,
    ) -> Option<FileMatches> {
        let mut collector = MatchCollector::new(self);
        let outcome = File::open(&path).and_then(|file| {
            let reader = CancelableReader { file, cancel };
            searcher.search_reader(matcher, reader, &mut collector)
        });
        if let Err(error) = outcome {
            self.errors
                .add(&format_args!("{}: {error}", path.display()));
        }
        collector.into_matches(path)
    }

    /// Searches files through file operations.
    pub(super) async fn search_operations(
        &self,
        files: &dyn FileOperations,
        root: &Path,
        kind: FileKind,
        cancel: &CancellationToken,
    ) -> Vec<FileMatches> {
        let mut all = Vec::new();
        if kind == FileKind::File {
            let binary = BinaryDetection::convert(b'\0');
            all.extend(self.search_contents(files, root, binary).await);
            return all;
        }
        let mut walk = OperationsWalk::new(files, root, &self.errors);
        while let Some((path, kind)) = walk.next().await {
            if cancel.is_cancelled() || self.is_done() {
                break;
            }
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
    ) -> Option<FileMatches> {
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
        self.totals.matches.load(Ordering::Relaxed) >= self.limit || self.totals.is_full()
    }

    fn searcher(&self, binary: BinaryDetection) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .binary_detection(binary)
            .heap_limit(Some(MAX_SEARCHER_BYTES))
            .before_context(self.context)
            .after_context(self.context)
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
    context: u64,
    limit: usize,
    totals: &'a MatchTotals,
    /// No further matches are collected; context after the last match still is.
    full: bool,
    matches: Vec<u64>,
    lines: Vec<GrepLine>,
}

impl<'a> MatchCollector<'a> {
    fn new(search: &'a GrepSearch) -> Self {
        Self {
            context: search.context as u64,
            limit: search.limit,
            totals: &search.totals,
            full: false,
            matches: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn into_matches(self, path: PathBuf) -> Option<FileMatches> {
        (!self.matches.is_empty()).then_some(FileMatches {
            path,
            matches: self.matches,
            lines: self.lines,
        })
    }

    /// Adds a line; returns whether to continue.
    fn add_line(&mut self, number: u64, bytes: &[u8]) -> bool {
        let (text, truncated) = truncate_line(bytes);
        let size = text.len() + LINE_OVERHEAD;
        self.totals.kept_bytes.fetch_add(size, Ordering::Relaxed);
        self.lines.push(GrepLine {
            number,
            text,
            truncated,
        });
        if self.totals.is_full() {
            return false;
        }
        !self.full
            || self
                .matches
                .last()
                .is_some_and(|last| number < last + self.context)
    }
}

impl Sink for MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let Some(number) = matched.line_number() else {
            return Ok(true);
        };
        if !self.full {
            let before = self.totals.matches.fetch_add(1, Ordering::Relaxed);
            self.full = before.saturating_add(1) >= self.limit;
            if before < self.limit {
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
fn truncate_line(bytes: &[u8]) -> (String, bool) {
    // Enough bytes for the longest shown line, so that a huge line is not copied.
    let limit = bytes.len().min(8 * MAX_LINE_CHARACTERS);
    let prefix = String::from_utf8_lossy(bytes.get(..limit).unwrap_or(bytes));
    let mut text = String::new();
    let mut characters = 0;
    for c in prefix.chars().filter(|c| !matches!(c, '\r' | '\n')) {
        // Counted in UTF-16 code units, like other consumers of the result do.
        characters += c.len_utf16();
        if characters > MAX_LINE_CHARACTERS {
            text.push_str("... [truncated]");
            return (text, true);
        }
        text.push(c);
    }
    (text, false)
}
