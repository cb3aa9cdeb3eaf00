//! The `grep` tool: searches file contents. Local files are searched in process with the crates of
//! ripgrep, including its ignore rules, binary detection and regular expressions. Matches are
//! returned as `path:number: text`, context lines as `path-number- text`.

use futures_util::future::BoxFuture;
use pi_core::{FileKind, FoundLines, LineQuery, SearchError, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{ReplayPolicy, Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::{ToolPrompt, check_canceled, declare, parse_arguments};
use crate::search_report::{
    SearchReport, parse_count, relative_path, search_failure, search_root, unreadable_notice,
};
use crate::truncate::{MAX_BYTES, format_size};

/// System prompt text of the grep tool.
pub const GREP_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Search in files with a regular expression; skips ignored files",
    guidelines: &[],
};

const DEFAULT_LIMIT: usize = 100;

/// Maximum number of characters shown per line.
const MAX_LINE_CHARACTERS: usize = 500;

/// Limit for all kept lines; the requested context is unlimited.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;

pub struct GrepTool {
    declaration: ToolDeclaration,
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

impl Default for GrepTool {
    fn default() -> Self {
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
        Self { declaration }
    }
}

async fn run(cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
    check_canceled(&cx.cancel)?;
    let arguments: GrepArguments = parse_arguments(arguments)?;
    let (root, kind) = search_root(&cx, arguments.path.as_deref()).await?;
    if !matches!(kind, FileKind::File | FileKind::Directory) {
        return Err(ToolError::new(format!(
            "Cannot search {}: {kind}, not a file or directory",
            root.display()
        )));
    }
    let query = LineQuery {
        root,
        cwd: cx.session.cwd().to_owned(),
        pattern: arguments.pattern,
        is_literal: arguments.literal,
        ignore_case: arguments.ignore_case,
        glob: arguments.glob,
        context: context_lines(arguments.context),
        limit: parse_count(arguments.limit, DEFAULT_LIMIT),
        max_line_length: MAX_LINE_CHARACTERS,
        max_bytes: MAX_KEPT_BYTES,
    };
    let found = cx.env.search.find_lines(query.clone(), cx.cancel.clone());
    let found = found
        .await
        .map_err(|error| failure(error, query.is_literal))?;
    Ok(report(&query, found, kind))
}

fn failure(error: SearchError, is_literal: bool) -> ToolError {
    match error {
        SearchError::InvalidPattern(error) => {
            let hint = if is_literal {
                "Patterns cannot match across lines."
            } else {
                "Fix the pattern, or set literal=true to search for it literally."
            };
            ToolError::new(format!("Invalid pattern: {error}\n{hint}"))
        }
        SearchError::InvalidGlob(error) => ToolError::new(format!("Invalid glob: {error}")),
        SearchError::Canceled | SearchError::Failed(_) => search_failure(error),
    }
}

impl Tool for GrepTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplayPolicy {
        ReplayPolicy::Safe
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(run(cx, arguments))
    }
}

fn context_lines(given: Option<f64>) -> usize {
    match given {
        Some(lines) if lines > 0.0 => parse_count(Some(lines), 0).min(MAX_CONTEXT_LINES),
        Some(_) | None => 0,
    }
}

/// More lines could not be shown, even if they were empty.
const MAX_CONTEXT_LINES: usize = MAX_BYTES;

fn report(query: &LineQuery, found: FoundLines, kind: FileKind) -> ToolOutput {
    let mut report = SearchReport::default();
    let mut matches = 0;
    let mut lines_truncated = false;
    for file in found.files {
        let name = match (kind, file.path.file_name()) {
            (FileKind::File, Some(name)) => name.to_string_lossy().into_owned(),
            _ => relative_path(&file.path, &query.root),
        };
        matches += file.matches.len();
        lines_truncated |= file.lines.iter().any(|line| line.is_truncated);
        for matched in &file.matches {
            for line in file.with_context(*matched, query.context) {
                let number = line.number;
                let sign = if number == *matched { ':' } else { '-' };
                report.push_line(&format!("{name}{sign}{number}{sign} {}", line.text));
            }
        }
    }
    if matches >= query.limit {
        report.limit_reached("matchLimitReached", "matches", query.limit);
    }
    if found.reached_max_bytes {
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
    if let Some(notice) = unreadable_notice(&found.unreadable) {
        report.notice(notice, None);
    }
    report.into_output("(no matches)")
}

#[cfg(test)]
mod tests;
