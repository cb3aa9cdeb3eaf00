//! The `grep` tool: searches file contents in process with the crates of ripgrep, including its
//! ignore rules, binary detection and regular expressions. Matches are returned as
//! `path:number: text`, context lines as `path-number- text`.

mod search;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use pi_core::{Tool, ToolError, UpdateSink};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::{ToolContext, ToolPrompt, aborted, check_canceled, declare, parse_arguments};
use crate::operations::FileKind;
use crate::search_report::{SearchReport, parse_count, relative_path};
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{WalkErrors, search_root};
use search::{FileMatches, GrepSearch, MAX_KEPT_BYTES, MatchTotals};

/// System prompt text of the grep tool.
pub const GREP_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Search in files with a regular expression; skips ignored files",
    guidelines: &[],
};

const DEFAULT_LIMIT: usize = 100;

/// Maximum number of characters shown per line.
const MAX_LINE_CHARACTERS: usize = 500;

pub struct GrepTool {
    declaration: ToolDeclaration,
    context: ToolContext,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GrepArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    context: Option<f64>,
    limit: Option<f64>,
}

impl GrepTool {
    pub fn new(context: ToolContext) -> Self {
        let declaration = declare(
            "grep",
            &format!(
                "Search in files. Each match is returned with its path and line \
                 numbers. Respects .gitignore. Output is truncated to {DEFAULT_LIMIT} matches or {} \
                 (whichever is reached first). Long lines are truncated to \
                 {MAX_LINE_CHARACTERS} characters.",
                format_size(MAX_BYTES),
            ),
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {
                        "type": "string",
                        "description": "Regular expression, or literal text if literal is true",
                    },
                    "path": {
                        "type": "string",
                        "description": "Directory or file to search (default: working directory)",
                    },
                    "glob": {
                        "type": "string",
                        "description": "Only search files that match this glob, for example '*.ts' or '**/*.spec.ts'",
                    },
                    "ignoreCase": {
                        "type": "boolean",
                        "description": "Case-insensitive search (default: false)",
                    },
                    "literal": {
                        "type": "boolean",
                        "description": "Treat the pattern as literal text (default: false)",
                    },
                    "context": {
                        "type": "number",
                        "description": "Context lines before and after a match (default: 0)",
                    },
                    "limit": {
                        "type": "number",
                        "description": "Number of matches to return at most (default: 100)",
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
        let arguments: GrepArguments = parse_arguments(arguments)?;
        let (root, kind) = search_root(&self.context, arguments.path.as_deref()).await?;
        if !matches!(kind, FileKind::File | FileKind::Directory) {
            return Err(ToolError::new(format!(
                "Cannot search {}: {kind}, not a file or directory",
                root.display()
            )));
        }
        let search = Arc::new(GrepSearch {
            matcher: matcher(&arguments)?,
            globs: globs(arguments.glob.as_deref(), &self.context.paths.cwd)?,
            cwd: self.context.paths.cwd.clone(),
            context: context_lines(arguments.context),
            limit: parse_count(arguments.limit, DEFAULT_LIMIT),
            errors: WalkErrors::default(),
            totals: MatchTotals::default(),
        });
        let found = self.search(&search, root.clone(), kind, &cancel).await?;
        Ok(report(&search, found, &root, kind))
    }

    async fn search(
        &self,
        search: &Arc<GrepSearch>,
        root: PathBuf,
        kind: FileKind,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileMatches>, ToolError> {
        // Stops the search threads if this future is dropped.
        let stop = cancel.child_token();
        let _stop_on_drop = stop.clone().drop_guard();
        let mut found = if self.context.files.is_local() {
            let search = Arc::clone(search);
            tokio::task::spawn_blocking(move || match kind {
                FileKind::Directory => search.search_directory(&root, &stop),
                _ => search.search_named_file(&root, &stop),
            })
            .await
            .map_err(|error| ToolError::new(format!("Search failed: {error}")))?
        } else {
            let files = &*self.context.files;
            stop.run_until_cancelled(search.search_operations(files, &root, kind, &stop))
                .await
                .ok_or_else(aborted)?
        };
        check_canceled(cancel)?;
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }
}

impl Tool for GrepTool {
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

fn matcher(arguments: &GrepArguments) -> Result<RegexMatcher, ToolError> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .line_terminator(Some(b'\n'))
        .ban_byte(Some(b'\0'))
        .case_insensitive(arguments.ignore_case)
        .fixed_strings(arguments.literal)
        .build(&arguments.pattern)
        .map_err(|error| {
            let hint = if arguments.literal {
                "Patterns cannot match across lines."
            } else {
                "Fix the pattern, or set literal=true to search for it literally."
            };
            ToolError::new(format!("Invalid pattern: {error}\n{hint}"))
        })
}

/// Globs with a slash are relative to the working directory, wherever the search starts.
fn globs(glob: Option<&str>, cwd: &Path) -> Result<Override, ToolError> {
    let invalid_glob = |error: ignore::Error| ToolError::new(format!("Invalid glob: {error}"));
    let mut builder = OverrideBuilder::new(cwd);
    if let Some(glob) = glob.filter(|glob| !glob.is_empty()) {
        builder.add(glob).map_err(invalid_glob)?;
    }
    builder.build().map_err(invalid_glob)
}

fn context_lines(given: Option<f64>) -> usize {
    match given {
        Some(lines) if lines > 0.0 => parse_count(Some(lines), 0).min(MAX_CONTEXT_LINES),
        Some(_) | None => 0,
    }
}

/// More lines could not be shown, even if they were empty.
const MAX_CONTEXT_LINES: usize = MAX_BYTES;

fn report(search: &GrepSearch, found: Vec<FileMatches>, root: &Path, kind: FileKind) -> ToolOutput {
    let mut report = SearchReport::default();
    let mut matches = 0;
    let mut lines_truncated = false;
    for file in found {
        let name = match (kind, file.path.file_name()) {
            (FileKind::File, Some(name)) => name.to_string_lossy().into_owned(),
            _ => relative_path(&file.path, root),
        };
        matches += file.matches.len();
        lines_truncated |= file.lines.iter().any(|line| line.truncated);
        for matched in &file.matches {
            for line in file.with_context(*matched, search.context) {
                let number = line.number;
                let sign = if number == *matched { ':' } else { '-' };
                report.push_line(&format!("{name}{sign}{number}{sign} {}", line.text));
            }
        }
    }
    if matches >= search.limit {
        report.limit_reached("matchLimitReached", "matches", search.limit);
    }
    if search.totals.is_full() {
        report.notice(
            format!(
                "Stopped after {} of context lines; use less context or a narrower pattern",
                format_size(MAX_KEPT_BYTES)
            ),
            None,
        );
    }
    if lines_truncated {
        report.notice(
            format!("Some lines are truncated to {MAX_LINE_CHARACTERS} characters; use read to see full lines"),
            Some(("linesTruncated", Value::Bool(true))),
        );
    }
    if let Some(notice) = search.errors.notice() {
        report.notice(notice, None);
    }
    report.into_output("(no matches)")
}

#[cfg(test)]
mod tests;
