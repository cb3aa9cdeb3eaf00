//! Searching files by name and by content.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub type SearchFuture<'a, T> = BoxFuture<'a, Result<T, SearchError>>;

/// Searches files. Paths are absolute, and ignored files are skipped.
///
/// A separate trait from file access, because searching is fast where the files are and slow over a
/// connection.
pub trait SearchOperations: Send + Sync {
    /// Finds files and directories below a directory by a glob.
    fn find_paths(
        &self,
        query: PathQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundPaths>;

    /// Finds the lines of a file, or of all files below a directory, that match a pattern.
    fn find_lines(
        &self,
        query: LineQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundLines>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathQuery {
    /// The directory to search.
    pub root: PathBuf,
    /// The working directory.
    pub cwd: PathBuf,
    /// Matches file names, or full paths if it contains a slash. It is case-insensitive unless it
    /// contains an uppercase letter.
    pub glob: String,
    /// Number of paths after which the search stops.
    pub limit: usize,
}

/// What was found by name, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundPaths {
    pub paths: Vec<FoundPath>,
    pub unreadable: UnreadablePaths,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundPath {
    pub path: PathBuf,
    pub is_directory: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineQuery {
    /// The directory or file to search. A file is searched even if it looks binary.
    pub root: PathBuf,
    /// The working directory, which globs with a slash are relative to.
    pub cwd: PathBuf,
    /// A regular expression, or the text to find.
    pub pattern: String,
    /// Whether the pattern is the text to find.
    pub is_literal: bool,
    pub ignore_case: bool,
    /// Only files that match this glob are searched.
    pub glob: Option<String>,
    /// Number of context lines around each match.
    pub context: usize,
    /// Number of matches after which the search stops.
    pub limit: usize,
    /// Number of UTF-16 code units after which a line is truncated.
    pub max_line_length: usize,
    /// Size of all returned lines after which the search stops.
    pub max_bytes: usize,
}

/// What was found by content, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundLines {
    pub files: Vec<MatchedFile>,
    /// Whether the search stopped at the size limit.
    pub reached_max_bytes: bool,
    pub unreadable: UnreadablePaths,
}

/// The matching lines of a file, in order, and their context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedFile {
    pub path: PathBuf,
    /// Line numbers of the matches.
    pub matches: Vec<u64>,
    pub lines: Vec<FoundLine>,
}

impl MatchedFile {
    /// Returns a line and its context.
    pub fn with_context(&self, number: u64, context: usize) -> impl Iterator<Item = &FoundLine> {
        let first = number.saturating_sub(context as u64);
        let last = number.saturating_add(context as u64);
        let start = self.lines.partition_point(|line| line.number < first);
        self.lines
            .iter()
            .skip(start)
            .take_while(move |line| line.number <= last)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    pub number: u64,
    pub text: String,
    pub is_truncated: bool,
}

/// Files and directories that could not be read; they do not fail a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnreadablePaths {
    pub count: usize,
    /// The first path and why it could not be read.
    pub first: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SearchError {
    #[error("search canceled")]
    Canceled,
    #[error("invalid pattern: {0}")]
    InvalidPattern(String),
    #[error("invalid glob: {0}")]
    InvalidGlob(String),
    #[error("search failed: {0}")]
    Failed(String),
}
