//! Finds files by name.
//!
//! The rules are those of `fd`: a glob without a slash is held against names, one with a slash
//! against whole paths, case counts only when the glob has an upper-case letter, and what ignore
//! files name is left out.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkState;
use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink};
use pi_ai::Tool as ToolDeclaration;
use pi_ai::json::JsonObject;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::context::{ToolContext, ToolPrompt, aborted, check_cancelled, declare, parse_arguments};
use crate::operations::{FileKind, FileOperations};
use crate::search_report::{SearchReport, count, relative};
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{OperationsWalk, Problems, Visitor, local_walk, search_root, walk_in_parallel};

/// What the find tool adds to the system prompt.
pub const FIND_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Find files by glob pattern, leaving out what .gitignore names",
    guidelines: &[],
};

/// Results shown unless the model asks for another number.
const DEFAULT_LIMIT: usize = 1000;

/// Finds files by glob.
pub struct FindTool {
    declaration: ToolDeclaration,
    context: ToolContext,
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<f64>,
}

impl FindTool {
    /// Creates the tool.
    pub fn new(context: ToolContext) -> Self {
        let declaration = declare(
            "find",
            &format!(
                "Finds files and directories by glob pattern and returns their paths relative to the \
                 directory searched. What .gitignore names is left out. At most {DEFAULT_LIMIT} \
                 results or {} are returned, whichever is less.",
                format_size(MAX_BYTES),
            ),
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {
                        "type": "string",
                        "description": "A glob such as '*.ts', '**/*.json' or 'src/**/*.spec.ts'",
                    },
                    "path": {
                        "type": "string",
                        "description": "The directory to search; the working directory without it",
                    },
                    "limit": {
                        "type": "number",
                        "description": "The most results to return (default: 1000)",
                    },
                },
            }),
        );
        Self {
            declaration,
            context,
        }
    }

    async fn run(
        &self,
        arguments: JsonObject,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        check_cancelled(&cancel)?;
        let arguments: Arguments = parse_arguments(arguments)?;
        let (root, kind) = search_root(&self.context, arguments.path.as_deref()).await?;
        if kind != FileKind::Directory {
            return Err(ToolError::new(format!(
                "Cannot search {}: it is {kind}, not a directory",
                root.display()
            )));
        }
        let search = Arc::new(Search {
            wanted: Wanted::new(&arguments.pattern)?,
            root,
            cwd: self.context.paths.cwd.clone(),
            // More cannot be shown, however short the names are.
            limit: count(arguments.limit, DEFAULT_LIMIT).min(MAX_BYTES),
            problems: Problems::default(),
        });
        let found = self.search(&search, &cancel).await?;
        Ok(report(&search, &found))
    }

    async fn search(
        &self,
        search: &Arc<Search>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Found>, ToolError> {
        // Stops the threads when nobody waits for them any more.
        let stop = cancel.child_token();
        let _stop_on_drop = stop.clone().drop_guard();
        let mut found = if self.context.files.is_local() {
            let search = Arc::clone(search);
            tokio::task::spawn_blocking(move || search.on_disk(&stop))
                .await
                .map_err(|error| ToolError::new(format!("The search broke down: {error}")))?
        } else {
            stop.run_until_cancelled(search.through(&*self.context.files))
                .await
                .ok_or_else(aborted)?
        };
        check_cancelled(cancel)?;
        found.sort();
        Ok(found)
    }
}

impl Tool for FindTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn execute<'a>(
        &'a self,
        _call_id: &'a str,
        arguments: JsonObject,
        _updates: UpdateSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(arguments, cancel))
    }
}

/// A result.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    path: PathBuf,
    is_directory: bool,
}

struct Search {
    wanted: Wanted,
    root: PathBuf,
    cwd: PathBuf,
    limit: usize,
    problems: Problems,
}

impl Search {
    /// Searches this machine.
    fn on_disk(&self, cancel: &CancellationToken) -> Vec<Found> {
        let count = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let mut walk = local_walk(&self.root, &self.cwd, ".fdignore");
        // Outside of repositories .gitignore counts as well; inside, rules end where a nested
        // repository begins.
        walk.require_git(
            self.root
                .ancestors()
                .any(|folder| folder.join(".git").exists()),
        );
        let visitor = || {
            let (count, found) = (&count, &found);
            Box::new(move |entry: ignore::DirEntry| {
                if entry.depth() == 0 || !self.wanted.fits(entry.path()) {
                    return WalkState::Continue;
                }
                let before = count.fetch_add(1, Ordering::Relaxed);
                if before >= self.limit {
                    return WalkState::Quit;
                }
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(Found {
                        path: entry.into_path(),
                        is_directory,
                    });
                if before + 1 >= self.limit {
                    return WalkState::Quit;
                }
                WalkState::Continue
            }) as Visitor<'_>
        };
        walk_in_parallel(&walk, &self.problems, visitor, cancel);
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches files that are reached through operations.
    async fn through(&self, files: &dyn FileOperations) -> Vec<Found> {
        let mut found = Vec::new();
        let mut walk = OperationsWalk::new(files, &self.root, &self.problems);
        while found.len() < self.limit
            && let Some((path, kind)) = walk.next().await
        {
            if self.wanted.fits(&path) {
                found.push(Found {
                    path,
                    is_directory: kind == FileKind::Directory,
                });
            }
        }
        found
    }
}

/// A glob and what it is held against.
struct Wanted {
    glob: GlobMatcher,
    whole_path: bool,
}

impl Wanted {
    fn new(pattern: &str) -> Result<Self, ToolError> {
        let whole_path = pattern.contains('/');
        let anchored = pattern.starts_with('/') || pattern.starts_with("**/");
        let glob = if whole_path && !anchored {
            format!("**/{pattern}")
        } else {
            pattern.to_owned()
        };
        let glob = GlobBuilder::new(&glob)
            .literal_separator(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .build()
            .map_err(|error| ToolError::new(format!("The pattern cannot be used: {error}")))?;
        Ok(Self {
            glob: glob.compile_matcher(),
            whole_path,
        })
    }

    fn fits(&self, path: &Path) -> bool {
        if self.whole_path {
            return self.glob.is_match(path);
        }
        path.file_name()
            .is_some_and(|name| self.glob.is_match(name))
    }
}

fn report(search: &Search, found: &[Found]) -> ToolOutput {
    let mut report = SearchReport::default();
    for Found { path, is_directory } in found {
        let mut line = relative(path, &search.root);
        if *is_directory {
            line.push('/');
        }
        report.push_line(&line);
    }
    if found.len() >= search.limit {
        report.limit_reached("resultLimitReached", "results", search.limit);
    }
    if let Some(problems) = search.problems.notice() {
        report.notice(problems, None);
    }
    report.into_output("(no files found)")
}

#[cfg(test)]
mod tests;
