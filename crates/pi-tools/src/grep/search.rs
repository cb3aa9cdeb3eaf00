//! Finds the matching lines of files, on disk in parallel or through operations one by one.

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
use crate::walk::{OperationsWalk, Problems, local_walk, walk_in_parallel};

/// What one thread may hold of a file: only a line that is longer needs so much.
const MOST_MEMORY: usize = 256 * 1024 * 1024;

/// What the lines of all files may take together; context can be asked for without measure.
pub(super) const MOST_KEPT: usize = 16 * 1024 * 1024;

/// What a line takes beside its text.
const LINE_OVERHEAD: usize = size_of::<Line>();

/// What is searched for, and where it may be.
pub(super) struct Search {
    pub(super) matcher: RegexMatcher,
    pub(super) globs: Override,
    pub(super) cwd: PathBuf,
    /// Lines shown around each match.
    pub(super) context: usize,
    /// Matches after which the search ends.
    pub(super) limit: usize,
    pub(super) problems: Problems,
    pub(super) tally: Tally,
}

/// What was found in all files so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    matches: AtomicUsize,
    kept_bytes: AtomicUsize,
}

impl Tally {
    /// Returns whether no more lines can be kept.
    pub(super) fn is_full(&self) -> bool {
        self.kept_bytes.load(Ordering::Relaxed) >= MOST_KEPT
    }
}

/// The matching lines of a file, in order, and the lines around them.
#[derive(Debug)]
pub(super) struct FileMatches {
    pub(super) path: PathBuf,
    /// Numbers of matching lines.
    pub(super) matches: Vec<u64>,
    pub(super) lines: Vec<Line>,
}

/// A line of a file.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    /// Only the beginning is here.
    pub(super) cut: bool,
}

impl FileMatches {
    /// Returns a line and those around it.
    pub(super) fn around(&self, number: u64, context: usize) -> impl Iterator<Item = &Line> {
        let first = number.saturating_sub(context as u64);
        let last = number.saturating_add(context as u64);
        let start = self.lines.partition_point(|line| line.number < first);
        self.lines
            .iter()
            .skip(start)
            .take_while(move |line| line.number <= last)
    }
}

impl Search {
    /// Searches a directory of this machine.
    pub(super) fn directory(&self, root: &Path, cancel: &CancellationToken) -> Vec<FileMatches> {
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
                    if let Some(file) = self.file(&mut searcher, &matcher, path, cancel) {
                        files
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(file);
                    }
                }
                WalkState::Continue
            }) as crate::walk::Visitor<'_>
        };
        walk_in_parallel(&walk, &self.problems, visitor, cancel);
        files.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches a file of this machine that was asked for by name: also when it looks binary.
    pub(super) fn named_file(&self, path: &Path, cancel: &CancellationToken) -> Vec<FileMatches> {
        let mut searcher = self.searcher(BinaryDetection::convert(b'\0'));
        self.file(&mut searcher, &self.matcher, path.to_owned(), cancel)
            .into_iter()
            .collect()
    }

    fn file(
        &self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: PathBuf,
        cancel: &CancellationToken,
    ) -> Option<FileMatches> {
        let mut collector = Collector::new(self);
        let outcome = File::open(&path).and_then(|file| {
            let reader = Interruptible { file, cancel };
            searcher.search_reader(matcher, reader, &mut collector)
        });
        if let Err(error) = outcome {
            self.problems
                .add(&format_args!("{}: {error}", path.display()));
        }
        collector.into_matches(path)
    }

    /// Searches files that are reached through operations.
    pub(super) async fn through(
        &self,
        files: &dyn FileOperations,
        root: &Path,
        kind: FileKind,
        cancel: &CancellationToken,
    ) -> Vec<FileMatches> {
        let mut all = Vec::new();
        if kind == FileKind::File {
            let binary = BinaryDetection::convert(b'\0');
            all.extend(self.contents(files, root, binary).await);
            return all;
        }
        let mut walk = OperationsWalk::new(files, root, &self.problems);
        while let Some((path, kind)) = walk.next().await {
            if cancel.is_cancelled() || self.is_done() {
                break;
            }
            if kind == FileKind::File && !self.globs.matched(&path, false).is_ignore() {
                let binary = BinaryDetection::quit(b'\0');
                all.extend(self.contents(files, &path, binary).await);
            }
        }
        all
    }

    async fn contents(
        &self,
        files: &dyn FileOperations,
        path: &Path,
        binary: BinaryDetection,
    ) -> Option<FileMatches> {
        let contents = match files.read(path).await {
            Ok(contents) => contents,
            Err(error) => {
                self.problems
                    .add(&format_args!("{}: {error}", path.display()));
                return None;
            }
        };
        let mut collector = Collector::new(self);
        let mut searcher = self.searcher(binary);
        // Read, not searched as a slice: binary files are told apart as those on disk are.
        if let Err(error) = searcher.search_reader(&self.matcher, &contents[..], &mut collector) {
            self.problems
                .add(&format_args!("{}: {error}", path.display()));
        }
        collector.into_matches(path.to_owned())
    }

    fn is_done(&self) -> bool {
        self.tally.matches.load(Ordering::Relaxed) >= self.limit || self.tally.is_full()
    }

    fn searcher(&self, binary: BinaryDetection) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .binary_detection(binary)
            .heap_limit(Some(MOST_MEMORY))
            .before_context(self.context)
            .after_context(self.context)
            .build()
    }
}

/// Lets the search of a large file end early.
struct Interruptible<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("the search was stopped"));
        }
        self.file.read(buffer)
    }
}

/// Collects the lines of one file.
struct Collector<'a> {
    context: u64,
    limit: usize,
    tally: &'a Tally,
    /// No further match is taken; lines after the last one still are.
    full: bool,
    matches: Vec<u64>,
    lines: Vec<Line>,
}

impl<'a> Collector<'a> {
    fn new(search: &'a Search) -> Self {
        Self {
            context: search.context as u64,
            limit: search.limit,
            tally: &search.tally,
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

    /// Keeps a line and tells whether to go on.
    fn keep(&mut self, number: u64, bytes: &[u8]) -> bool {
        let (text, cut) = shown_line(bytes);
        let size = text.len() + LINE_OVERHEAD;
        self.tally.kept_bytes.fetch_add(size, Ordering::Relaxed);
        self.lines.push(Line { number, text, cut });
        if self.tally.is_full() {
            return false;
        }
        !self.full
            || self
                .matches
                .last()
                .is_some_and(|last| number < last + self.context)
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let Some(number) = matched.line_number() else {
            return Ok(true);
        };
        if !self.full {
            let before = self.tally.matches.fetch_add(1, Ordering::Relaxed);
            self.full = before.saturating_add(1) >= self.limit;
            if before < self.limit {
                self.matches.push(number);
            }
        }
        Ok(self.keep(number, matched.bytes()))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let Some(number) = line.line_number() else {
            return Ok(true);
        };
        Ok(self.keep(number, line.bytes()))
    }
}

/// Returns the beginning of a line, and whether that is not all of it.
fn shown_line(bytes: &[u8]) -> (String, bool) {
    // Bytes enough for the longest line that is shown, so that a huge one is not copied whole.
    let most = bytes.len().min(8 * MAX_LINE_CHARACTERS);
    let beginning = String::from_utf8_lossy(bytes.get(..most).unwrap_or(bytes));
    let mut text = String::new();
    let mut characters = 0;
    for c in beginning.chars().filter(|c| !matches!(c, '\r' | '\n')) {
        // Counted as other readers of the result count: a character outside the first plane is two.
        characters += c.len_utf16();
        if characters > MAX_LINE_CHARACTERS {
            text.push_str("... [truncated]");
            return (text, true);
        }
        text.push(c);
    }
    (text, false)
}
