//! Walks directory trees and skips ignored files. Local directories are walked in parallel by the
//! `ignore` crate; other files are walked through their operations, one directory at a time. Hidden
//! files are visited; symlinks are not followed on disk.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;
use pi_core::{FileError, FileKind, FileOperations, UnreadablePaths};
use tokio_util::sync::CancellationToken;

/// More threads only compete for the disk cache; ripgrep uses the same limit.
const MAX_THREADS: usize = 12;

/// Visits entries on one thread.
pub(super) type Visitor<'s> = Box<dyn FnMut(DirEntry) -> WalkState + Send + 's>;

/// Ignore files that a walk reads in each directory, in addition to the tool's own.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// Larger than any legitimate ignore file.
const MAX_IGNORE_FILE_BYTES: u64 = 4 << 20;

/// Returns a walk over a local directory; `tool_ignore_file` is the ignore file of the emulated
/// tool.
///
/// In a hostile repository an ignore file may be a symlink to an endless device. Directories with
/// such a file are skipped; if the walk starts in or below one, no ignore rules apply.
pub(super) fn local_walk(root: &Path, cwd: &Path, tool_ignore_file: &'static str) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut around = real_root.ancestors();
    if around.any(|directory| has_unsafe_ignore_file(directory, tool_ignore_file)) {
        tracing::warn!(
            ?root,
            "ignore rules disabled: an ignore file is not a regular file or too large"
        );
        builder.standard_filters(false);
    } else {
        builder
            .hidden(false)
            .add_custom_ignore_filename(tool_ignore_file);
    }
    builder
        .current_dir(cwd)
        .threads(threads.min(MAX_THREADS))
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            !is_directory || !has_unsafe_ignore_file(entry.path(), tool_ignore_file)
        });
    builder
}

/// Returns whether an ignore file of a directory must not be read.
fn has_unsafe_ignore_file(directory: &Path, tool_ignore_file: &str) -> bool {
    IGNORE_FILES.iter().chain([&tool_ignore_file]).any(|name| {
        let metadata = directory.join(name).metadata();
        metadata.is_ok_and(|it| !it.is_dir() && (!it.is_file() || it.len() > MAX_IGNORE_FILE_BYTES))
    })
}

/// Walks until a visitor or the token stops it; every thread gets its own visitor.
pub(super) fn walk_in_parallel<'s>(
    walk: &WalkBuilder,
    errors: &'s WalkErrors,
    mut visitor: impl FnMut() -> Visitor<'s>,
    cancel: &'s CancellationToken,
) {
    walk.build_parallel().run(|| {
        let mut visit = visitor();
        Box::new(move |entry| {
            if cancel.is_cancelled() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => visit(entry),
                Err(error) => {
                    errors.add(&error);
                    WalkState::Continue
                }
            }
        })
    });
}

/// Errors while walking; one unreadable file does not fail a search.
#[derive(Debug, Default)]
pub(super) struct WalkErrors(Mutex<UnreadablePaths>);

impl WalkErrors {
    /// Counts an error and records the first one.
    pub(super) fn add(&self, error: &dyn std::fmt::Display) {
        let mut errors = self.0.lock();
        if errors.count == 0 {
            errors.first = error.to_string();
        }
        errors.count += 1;
    }

    pub(super) fn into_unreadable(self) -> UnreadablePaths {
        self.0.into_inner()
    }
}

/// Directories that are never searched through operations: requesting each of their files over a
/// network would take too long.
const SKIPPED_DIRECTORIES: [&str; 2] = [".git", "node_modules"];

/// A walk through file operations.
pub(super) struct OperationsWalk<'a> {
    files: &'a dyn FileOperations,
    errors: &'a WalkErrors,
    /// Directories still to be listed, with their ignore rules.
    pending: Vec<(PathBuf, Option<Arc<IgnoreRules>>)>,
    ready: VecDeque<(PathBuf, FileKind)>,
    /// Real paths of listed directories, because symlinks may form cycles.
    listed: HashSet<PathBuf>,
}

/// The ignore rules of a directory and its ancestors.
struct IgnoreRules {
    own: Gitignore,
    outer: Option<Arc<Self>>,
}

impl IgnoreRules {
    fn ignores(&self, path: &Path, kind: FileKind) -> bool {
        let matched = self.own.matched(path, kind == FileKind::Directory);
        match &self.outer {
            _ if !matched.is_none() => matched.is_ignore(),
            Some(outer) => outer.ignores(path, kind),
            None => false,
        }
    }
}

impl<'a> OperationsWalk<'a> {
    pub(super) fn new(files: &'a dyn FileOperations, root: &Path, errors: &'a WalkErrors) -> Self {
        Self {
            files,
            errors,
            pending: vec![(root.to_owned(), None)],
            ready: VecDeque::new(),
            listed: HashSet::new(),
        }
    }

    pub(super) async fn next(&mut self) -> Option<(PathBuf, FileKind)> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(entry);
            }
            let (directory, rules) = self.pending.pop()?;
            if let Err(error) = self.list(&directory, rules).await {
                self.errors
                    .add(&format_args!("{}: {error}", directory.display()));
            }
        }
    }

    async fn list(
        &mut self,
        directory: &Path,
        outer: Option<Arc<IgnoreRules>>,
    ) -> Result<(), FileError> {
        if !self.listed.insert(self.files.real_path(directory).await?) {
            return Ok(());
        }
        let entries = self.files.list(directory).await?;
        let has_rules = entries.iter().any(|entry| entry.name == ".gitignore");
        let rules = if has_rules {
            Some(Arc::new(self.rules(directory, outer).await?))
        } else {
            outer
        };
        for entry in entries {
            let path = directory.join(&entry.name);
            let Some(kind) = entry.kind else { continue };
            let is_skipped = SKIPPED_DIRECTORIES.iter().any(|name| entry.name == *name);
            if is_skipped
                || rules
                    .as_ref()
                    .is_some_and(|rules| rules.ignores(&path, kind))
            {
                continue;
            }
            if kind == FileKind::Directory {
                self.pending.push((path.clone(), rules.clone()));
            }
            self.ready.push_back((path, kind));
        }
        Ok(())
    }

    async fn rules(
        &self,
        directory: &Path,
        outer: Option<Arc<IgnoreRules>>,
    ) -> Result<IgnoreRules, FileError> {
        let path = directory.join(".gitignore");
        let contents = self.files.read(&path).await?;
        let mut builder = GitignoreBuilder::new(directory);
        for line in String::from_utf8_lossy(&contents).lines() {
            // Invalid rules are skipped.
            if let Err(error) = builder.add_line(Some(path.clone()), line) {
                tracing::debug!(%error, ?path, "skipping invalid ignore rule");
            }
        }
        let own = builder.build().unwrap_or_else(|error| {
            tracing::debug!(%error, ?path, "skipping invalid ignore rules");
            Gitignore::empty()
        });
        Ok(IgnoreRules { own, outer })
    }
}
