//! The `find` tool: finds files by name with the rules of `fd`. A glob without a slash matches file
//! names, one with a slash matches full paths. Matching is case-insensitive unless the glob
//! contains an uppercase letter, and ignored files are skipped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkState;
use pi_core::{Tool, ToolError, UpdateSink};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::context::{ToolContext, ToolPrompt, aborted, check_canceled, declare, parse_arguments};
use crate::operations::{FileKind, FileOperations};
use crate::search_report::{SearchReport, parse_count, relative_path};
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{OperationsWalk, Visitor, WalkErrors, local_walk, search_root, walk_in_parallel};

/// System prompt text of the find tool.
pub const FIND_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Find files by name pattern; skips ignored files",
    guidelines: &[],
};

const DEFAULT_LIMIT: usize = 1000;

pub struct FindTool {
    declaration: ToolDeclaration,
    context: ToolContext,
}

#[derive(Deserialize)]
struct FindArguments {
    pattern: String,
    path: Option<String>,
    limit: Option<f64>,
}

impl FindTool {
    pub fn new(context: ToolContext) -> Self {
        let declaration = declare(
            "find",
            &format!(
                "Find files and directories by glob pattern. Returns paths relative to the search \
                 directory. Respects .gitignore. Output is truncated to {DEFAULT_LIMIT} results or {} \
                 (whichever is reached first).",
                format_size(MAX_BYTES),
            ),
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {
                        "type": "string",
                        "description": "Glob pattern, for example '*.ts', '**/*.json' or 'src/**/*.spec.ts'",
                    },
                    "path": {
                        "type": "string",
                        "description": "Directory to search (default: working directory)",
                    },
                    "limit": {
                        "type": "number",
                        "description": "Number of paths to return at most (default: 1000)",
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
        check_canceled(&cancel)?;
        let arguments: FindArguments = parse_arguments(arguments)?;
        let (root, kind) = search_root(&self.context, arguments.path.as_deref()).await?;
        if kind != FileKind::Directory {
            return Err(ToolError::new(format!(
                "Cannot search {}: {kind}, not a directory",
                root.display()
            )));
        }
        let search = Arc::new(FindSearch {
            pattern: FindPattern::new(&arguments.pattern)?,
            root,
            cwd: self.context.paths.cwd.clone(),
            // More results could not be shown, even with the shortest names.
            limit: parse_count(arguments.limit, DEFAULT_LIMIT).min(MAX_BYTES),
            errors: WalkErrors::default(),
        });
        let found = self.search(&search, &cancel).await?;
        Ok(report(&search, &found))
    }

    async fn search(
        &self,
        search: &Arc<FindSearch>,
        cancel: &CancellationToken,
    ) -> Result<Vec<FindResult>, ToolError> {
        // Stops the search threads if this future is dropped.
        let stop = cancel.child_token();
        let _stop_on_drop = stop.clone().drop_guard();
        let mut found = if self.context.files.is_local() {
            let search = Arc::clone(search);
            tokio::task::spawn_blocking(move || search.search_local(&stop))
                .await
                .map_err(|error| ToolError::new(format!("Search failed: {error}")))?
        } else {
            stop.run_until_cancelled(search.search_operations(&*self.context.files))
                .await
                .ok_or_else(aborted)?
        };
        check_canceled(cancel)?;
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

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FindResult {
    path: PathBuf,
    is_directory: bool,
}

struct FindSearch {
    pattern: FindPattern,
    root: PathBuf,
    cwd: PathBuf,
    limit: usize,
    errors: WalkErrors,
}

impl FindSearch {
    /// Searches the local file system.
    fn search_local(&self, cancel: &CancellationToken) -> Vec<FindResult> {
        let count = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let mut walk = local_walk(&self.root, &self.cwd, ".fdignore");
        // Outside of repositories .gitignore applies as well; inside, rules end at nested
        // repositories.
        walk.require_git(
            self.root
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
                if before >= self.limit {
                    return WalkState::Quit;
                }
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(FindResult {
                        path: entry.into_path(),
                        is_directory,
                    });
                if before + 1 >= self.limit {
                    return WalkState::Quit;
                }
                WalkState::Continue
            }) as Visitor<'_>
        };
        walk_in_parallel(&walk, &self.errors, visitor, cancel);
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches files through file operations.
    async fn search_operations(&self, files: &dyn FileOperations) -> Vec<FindResult> {
        let mut found = Vec::new();
        let mut walk = OperationsWalk::new(files, &self.root, &self.errors);
        while found.len() < self.limit
            && let Some((path, kind)) = walk.next().await
        {
            if self.pattern.matches(&path) {
                found.push(FindResult {
                    path,
                    is_directory: kind == FileKind::Directory,
                });
            }
        }
        found
    }
}

/// A glob and what it is matched against.
struct FindPattern {
    glob: GlobMatcher,
    match_full_path: bool,
}

impl FindPattern {
    fn new(pattern: &str) -> Result<Self, ToolError> {
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
            .map_err(|error| ToolError::new(format!("Invalid glob pattern: {error}")))?;
        Ok(Self {
            glob: glob.compile_matcher(),
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

fn report(search: &FindSearch, found: &[FindResult]) -> ToolOutput {
    let mut report = SearchReport::default();
    for FindResult { path, is_directory } in found {
        let mut line = relative_path(path, &search.root);
        if *is_directory {
            line.push('/');
        }
        report.push_line(&line);
    }
    if found.len() >= search.limit {
        report.limit_reached("resultLimitReached", "results", search.limit);
    }
    if let Some(notice) = search.errors.notice() {
        report.notice(notice, None);
    }
    report.into_output("(no files found)")
}

#[cfg(test)]
mod tests;
