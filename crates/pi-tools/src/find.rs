//! The `find` tool: finds files by name with the rules of `fd`. A glob without a slash matches file
//! names, one with a slash matches full paths. Matching is case-insensitive unless the glob
//! contains an uppercase letter, and ignored files are skipped.

use futures_util::future::BoxFuture;
use pi_core::{
    FileKind, FoundPath, FoundPaths, PathQuery, SearchError, Tool, ToolContext, ToolError,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{ReplayPolicy, Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::json;

use crate::context::{ToolPrompt, check_canceled, declare, parse_arguments};
use crate::search_report::{
    SearchReport, parse_count, relative_path, search_failure, search_root, unreadable_notice,
};
use crate::truncate::{MAX_BYTES, format_size};

/// System prompt text of the find tool.
pub const FIND_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Find files by name pattern; skips ignored files",
    guidelines: &[],
};

const DEFAULT_LIMIT: usize = 1000;

pub struct FindTool {
    declaration: ToolDeclaration,
}

#[derive(Deserialize)]
struct FindArguments {
    pattern: String,
    path: Option<String>,
    limit: Option<f64>,
}

impl Default for FindTool {
    fn default() -> Self {
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
        Self { declaration }
    }
}

async fn run(cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
    check_canceled(&cx.cancel)?;
    let arguments: FindArguments = parse_arguments(arguments)?;
    let (root, kind) = search_root(&cx, arguments.path.as_deref()).await?;
    if kind != FileKind::Directory {
        return Err(ToolError::new(format!(
            "Cannot search {}: {kind}, not a directory",
            root.display()
        )));
    }
    let query = PathQuery {
        root,
        cwd: cx.session.cwd().to_owned(),
        glob: arguments.pattern,
        // More results could not be shown, even with the shortest names.
        limit: parse_count(arguments.limit, DEFAULT_LIMIT).min(MAX_BYTES),
    };
    let found = cx.env.search.find_paths(query.clone(), cx.cancel.clone());
    let found = found.await.map_err(failure)?;
    Ok(report(&query, &found))
}

fn failure(error: SearchError) -> ToolError {
    match error {
        SearchError::InvalidPattern(error) | SearchError::InvalidGlob(error) => {
            ToolError::new(format!("Invalid glob pattern: {error}"))
        }
        SearchError::Canceled | SearchError::Failed(_) => search_failure(error),
    }
}

impl Tool for FindTool {
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

fn report(query: &PathQuery, found: &FoundPaths) -> ToolOutput {
    let mut report = SearchReport::default();
    for FoundPath { path, is_directory } in &found.paths {
        let mut line = relative_path(path, &query.root);
        if *is_directory {
            line.push('/');
        }
        report.push_line(&line);
    }
    if found.paths.len() >= query.limit {
        report.limit_reached("resultLimitReached", "results", query.limit);
    }
    if let Some(notice) = unreadable_notice(&found.unreadable) {
        report.notice(notice, None);
    }
    report.into_output("(no files found)")
}
