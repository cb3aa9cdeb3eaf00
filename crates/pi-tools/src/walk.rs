//! Walks directory trees, leaving out what ignore files name.
//!
//! This machine's disk is walked in parallel by ripgrep's own crate; other files are walked through
//! their operations, one directory after the other. Hidden files are visited, links are not followed
//! on disk. What is looked for is the caller's business.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use pi_agent::ToolError;
use tokio_util::sync::CancellationToken;

use crate::context::ToolContext;
use crate::operations::{FileError, FileKind, FileOperations};

/// More threads than this only fight over the disk's caches; ripgrep stops there too.
const MOST_THREADS: usize = 12;

/// Returns where a search begins and what stands there: the path the model wrote, or the working
/// directory.
pub(crate) async fn search_root(
    context: &ToolContext,
    written: Option<&str>,
) -> Result<(PathBuf, FileKind), ToolError> {
    let written = written.filter(|path| !path.is_empty());
    let root = context.paths.resolve(written.unwrap_or("."))?;
    match context.files.status(&root).await {
        Ok(status) => Ok((root, status.kind)),
        Err(error) => Err(ToolError::new(format!(
            "Cannot search {}: {error}",
            root.display()
        ))),
    }
}

/// Visits entries on one thread.
pub(crate) type Visitor<'s> = Box<dyn FnMut(DirEntry) -> WalkState + Send + 's>;

/// The ignore files that a walk reads in each directory, besides the tool's own.
const RULES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// Far more than anybody writes by hand.
const LARGEST_RULES: u64 = 4 << 20;

/// Returns a walk over a directory of this machine; `own_rules` is the ignore file of the tool whose
/// rules we follow.
///
/// A repository may hold a link to an endless device in the place of an ignore file. A directory with one
/// is left out; where the walk itself begins in or below one, no rules hold.
pub(crate) fn local_walk(root: &Path, cwd: &Path, own_rules: &'static str) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut around = real_root.ancestors();
    if around.any(|directory| has_endless_rules(directory, own_rules)) {
        tracing::warn!(
            ?root,
            "no ignore rules: an ignore file is no file or too large"
        );
        builder.standard_filters(false);
    } else {
        builder.hidden(false).add_custom_ignore_filename(own_rules);
    }
    builder
        .current_dir(cwd)
        .threads(threads.min(MOST_THREADS))
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            !is_directory || !has_endless_rules(entry.path(), own_rules)
        });
    builder
}

/// Returns whether an ignore file of a directory must not be read.
fn has_endless_rules(directory: &Path, own_rules: &str) -> bool {
    RULES.iter().chain([&own_rules]).any(|name| {
        let metadata = directory.join(name).metadata();
        metadata.is_ok_and(|it| !it.is_dir() && (!it.is_file() || it.len() > LARGEST_RULES))
    })
}

/// Walks until a visitor or the token stops it; each thread asks for its own visitor.
pub(crate) fn walk_in_parallel<'s>(
    walk: &WalkBuilder,
    problems: &'s Problems,
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
                    problems.add(&error);
                    WalkState::Continue
                }
            }
        })
    });
}

/// What could not be read on the way; one unreadable file does not spoil a search.
#[derive(Debug, Default)]
pub(crate) struct Problems(Mutex<(usize, String)>);

impl Problems {
    /// Counts a problem and remembers the first.
    pub(crate) fn add(&self, problem: &dyn std::fmt::Display) {
        let mut problems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.0 == 0 {
            problems.1 = problem.to_string();
        }
        problems.0 += 1;
    }

    /// Returns a notice about them.
    pub(crate) fn notice(&self) -> Option<String> {
        let problems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, first) = &*problems;
        // A path may hold newlines; the notice is one line.
        let first = first.replace('\n', " ");
        match count {
            0 => None,
            1 => Some(format!("Could not be read: {first}")),
            more => Some(format!(
                "{more} paths could not be read, the first: {first}"
            )),
        }
    }
}

/// Folders that are never searched through operations: asking for each of their files over a network
/// would take for ever.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// A walk through operations.
pub(crate) struct OperationsWalk<'a> {
    files: &'a dyn FileOperations,
    problems: &'a Problems,
    /// Directories still to be listed, with the rules that hold there.
    pending: Vec<(PathBuf, Option<Arc<Rules>>)>,
    ready: VecDeque<(PathBuf, FileKind)>,
    /// Real paths of listed directories: links may lead in circles.
    listed: HashSet<PathBuf>,
}

/// The rules of a directory and those around it.
struct Rules {
    own: Gitignore,
    outer: Option<Arc<Self>>,
}

impl Rules {
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
    /// Begins at a directory.
    pub(crate) fn new(files: &'a dyn FileOperations, root: &Path, problems: &'a Problems) -> Self {
        Self {
            files,
            problems,
            pending: vec![(root.to_owned(), None)],
            ready: VecDeque::new(),
            listed: HashSet::new(),
        }
    }

    /// Returns the next entry.
    pub(crate) async fn next(&mut self) -> Option<(PathBuf, FileKind)> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(entry);
            }
            let (directory, rules) = self.pending.pop()?;
            if let Err(error) = self.list(&directory, rules).await {
                self.problems
                    .add(&format_args!("{}: {error}", directory.display()));
            }
        }
    }

    async fn list(&mut self, directory: &Path, outer: Option<Arc<Rules>>) -> Result<(), FileError> {
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
            let left_out = LEFT_OUT.iter().any(|name| entry.name == *name);
            if left_out
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

    async fn rules(&self, directory: &Path, outer: Option<Arc<Rules>>) -> Result<Rules, FileError> {
        let path = directory.join(".gitignore");
        let contents = self.files.read(&path).await?;
        let mut builder = GitignoreBuilder::new(directory);
        for line in String::from_utf8_lossy(&contents).lines() {
            // A rule nobody understands is no rule.
            if let Err(error) = builder.add_line(Some(path.clone()), line) {
                tracing::debug!(%error, ?path, "an ignore rule was left out");
            }
        }
        let own = builder.build().unwrap_or_else(|error| {
            tracing::debug!(%error, ?path, "ignore rules were left out");
            Gitignore::empty()
        });
        Ok(Rules { own, outer })
    }
}
