//! Finds files and directories by glob.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkState;
use parking_lot::Mutex;
use pi_core::{FileKind, FileOperations, FoundPath, FoundPaths, PathQuery, SearchError};
use tokio_util::sync::CancellationToken;

use super::check_pattern_length;
use super::walk::{OperationsWalk, Visitor, WalkErrors, local_walk, walk_in_parallel};

/// One search.
pub(super) struct PathSearch {
    query: PathQuery,
    pattern: PathPattern,
    errors: WalkErrors,
}

impl PathSearch {
    pub(super) fn new(query: PathQuery) -> Result<Self, SearchError> {
        Ok(Self {
            pattern: PathPattern::new(&query.glob)?,
            query,
            errors: WalkErrors::default(),
        })
    }

    fn into_found(self, mut paths: Vec<FoundPath>) -> FoundPaths {
        paths.sort();
        FoundPaths {
            paths,
            unreadable: self.errors.into_unreadable(),
        }
    }

    /// Searches the local disk.
    pub(super) fn search_local(self, cancel: &CancellationToken) -> FoundPaths {
        let found = self.walk_local(cancel);
        self.into_found(found)
    }

    fn walk_local(&self, cancel: &CancellationToken) -> Vec<FoundPath> {
        let count = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let mut walk = local_walk(&self.query.root, &self.query.cwd, ".fdignore");
        // Outside of repositories .gitignore applies as well; inside, rules end at nested
        // repositories.
        walk.require_git(
            self.query
                .root
                .ancestors()
                .any(|directory| directory.join(".git").exists()),
        );
        let visitor = || {
            let (count, found) = (&count, &found);
            Box::new(move |entry: ignore::DirEntry| {
                if entry.depth() == 0 || !self.pattern.matches(entry.path()) {
                    return WalkState::Continue;
                }
                let before = count.fetch_add(1, Ordering::Relaxed);
                if before >= self.query.limit {
                    return WalkState::Quit;
                }
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                found.lock().push(FoundPath {
                    path: entry.into_path(),
                    is_directory,
                });
                if before + 1 >= self.query.limit {
                    return WalkState::Quit;
                }
                WalkState::Continue
            }) as Visitor<'_>
        };
        walk_in_parallel(&walk, &self.errors, visitor, cancel);
        found.into_inner()
    }

    /// Searches files through file operations.
    pub(super) async fn search_operations(self, files: &dyn FileOperations) -> FoundPaths {
        let mut found = Vec::new();
        let mut walk = OperationsWalk::new(files, &self.query.root, &self.errors);
        while found.len() < self.query.limit
            && let Some((path, kind)) = walk.next().await
        {
            if self.pattern.matches(&path) {
                found.push(FoundPath {
                    path,
                    is_directory: kind == FileKind::Directory,
                });
            }
        }
        drop(walk);
        self.into_found(found)
    }
}

/// A glob and what it is matched against.
struct PathPattern {
    /// A set of one glob: unlike a single matcher, it reports globs that are too complex.
    glob: GlobSet,
    match_full_path: bool,
}

impl PathPattern {
    fn new(pattern: &str) -> Result<Self, SearchError> {
        check_pattern_length(pattern).map_err(SearchError::InvalidGlob)?;
        let match_full_path = pattern.contains('/');
        let anchored = pattern.starts_with('/') || pattern.starts_with("**/");
        let glob = if match_full_path && !anchored {
            format!("**/{pattern}")
        } else {
            pattern.to_owned()
        };
        let glob = GlobBuilder::new(&glob)
            .literal_separator(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .build()
            .and_then(|glob| GlobSetBuilder::new().add(glob).build())
            .map_err(|error| SearchError::InvalidGlob(error.to_string()))?;
        Ok(Self {
            glob,
            match_full_path,
        })
    }

    fn matches(&self, path: &Path) -> bool {
        if self.match_full_path {
            return self.glob.is_match(path);
        }
        path.file_name()
            .is_some_and(|name| self.glob.is_match(name))
    }
}

#[cfg(test)]
mod tests;
