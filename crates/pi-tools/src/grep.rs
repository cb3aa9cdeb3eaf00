//! Searches file contents.
//!
//! ripgrep's crates do the searching, in process: its ignore rules, its idea of a binary file, its
//! regular expressions. Lines come back as `path:number: text`, context as `path-number- text`.

mod search;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink};
use pi_ai::Tool as ToolDeclaration;
use pi_ai::json::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::{ToolContext, ToolPrompt, aborted, check_cancelled, declare, parse_arguments};
use crate::operations::FileKind;
use crate::search_report::{SearchReport, count, relative};
use crate::truncate::{MAX_BYTES, format_size};
use crate::walk::{Problems, search_root};
use search::{FileMatches, MOST_KEPT, Search, Tally};

/// What the grep tool adds to the system prompt.
pub const GREP_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Search file contents by pattern, leaving out what .gitignore names",
    guidelines: &[],
};

/// Matches shown unless the model asks for another number.
const DEFAULT_LIMIT: usize = 100;

/// Characters of a line that are shown.
const MAX_LINE_CHARACTERS: usize = 500;

/// Searches file contents for a pattern.
pub struct GrepTool {
    declaration: ToolDeclaration,
    context: ToolContext,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
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
    /// Creates the tool.
    pub fn new(context: ToolContext) -> Self {
        let declaration = declare(
            "grep",
            &format!(
                "Searches file contents for a pattern and returns the matching lines with file and \
                 line number. Files named by .gitignore are left out. At most {DEFAULT_LIMIT} matches \
                 or {} are returned, whichever is less, and long lines are cut at \
                 {MAX_LINE_CHARACTERS} characters.",
                format_size(MAX_BYTES),
            ),
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {
                        "type": "string",
                        "description": "A regular expression, or plain text with literal",
                    },
                    "path": {
                        "type": "string",
                        "description": "The directory or file to search; the working directory without it",
                    },
                    "glob": {
                        "type": "string",
                        "description": "Only files whose name fits, such as '*.ts' or '**/*.spec.ts'",
                    },
                    "ignoreCase": {
                        "type": "boolean",
                        "description": "Let upper and lower case be the same (default: false)",
                    },
                    "literal": {
                        "type": "boolean",
                        "description": "Take the pattern as plain text (default: false)",
                    },
                    "context": {
                        "type": "number",
                        "description": "Lines to show before and after each match (default: 0)",
                    },
                    "limit": {
                        "type": "number",
                        "description": "The most matches to return (default: 100)",
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
        if !matches!(kind, FileKind::File | FileKind::Directory) {
            return Err(ToolError::new(format!(
                "Cannot search {}: it is {kind}",
                root.display()
            )));
        }
        let search = Arc::new(Search {
            matcher: matcher(&arguments)?,
            globs: globs(arguments.glob.as_deref(), &self.context.paths.cwd)?,
            cwd: self.context.paths.cwd.clone(),
            context: context_lines(arguments.context),
            limit: count(arguments.limit, DEFAULT_LIMIT),
            problems: Problems::default(),
            tally: Tally::default(),
        });
        let found = self.search(&search, root.clone(), kind, &cancel).await?;
        Ok(report(&search, found, &root, kind))
    }

    async fn search(
        &self,
        search: &Arc<Search>,
        root: PathBuf,
        kind: FileKind,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileMatches>, ToolError> {
        // Stops the threads when nobody waits for them any more.
        let stop = cancel.child_token();
        let _stop_on_drop = stop.clone().drop_guard();
        let mut found = if self.context.files.is_local() {
            let search = Arc::clone(search);
            tokio::task::spawn_blocking(move || match kind {
                FileKind::Directory => search.directory(&root, &stop),
                _ => search.named_file(&root, &stop),
            })
            .await
            .map_err(|error| ToolError::new(format!("The search broke down: {error}")))?
        } else {
            let files = &*self.context.files;
            stop.run_until_cancelled(search.through(files, &root, kind, &stop))
                .await
                .ok_or_else(aborted)?
        };
        check_cancelled(cancel)?;
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

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, ToolError> {
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
            let advice = if arguments.literal {
                "A search finds single lines only."
            } else {
                "Mend it, or set literal to search for the text as it is."
            };
            ToolError::new(format!("The pattern cannot be used: {error}\n{advice}"))
        })
}

/// Globs with a slash start at the working directory, wherever the search does.
fn globs(glob: Option<&str>, cwd: &Path) -> Result<Override, ToolError> {
    let unusable =
        |error: ignore::Error| ToolError::new(format!("The glob cannot be used: {error}"));
    let mut builder = OverrideBuilder::new(cwd);
    if let Some(glob) = glob.filter(|glob| !glob.is_empty()) {
        builder.add(glob).map_err(unusable)?;
    }
    builder.build().map_err(unusable)
}

fn context_lines(given: Option<f64>) -> usize {
    match given {
        Some(lines) if lines > 0.0 => count(Some(lines), 0).min(MOST_CONTEXT),
        Some(_) | None => 0,
    }
}

/// More lines than this cannot be shown, however short they are.
const MOST_CONTEXT: usize = MAX_BYTES;

fn report(search: &Search, found: Vec<FileMatches>, root: &Path, kind: FileKind) -> ToolOutput {
    let mut report = SearchReport::default();
    let mut matches = 0;
    let mut lines_cut = false;
    for file in found {
        let name = match (kind, file.path.file_name()) {
            (FileKind::File, Some(name)) => name.to_string_lossy().into_owned(),
            _ => relative(&file.path, root),
        };
        matches += file.matches.len();
        lines_cut |= file.lines.iter().any(|line| line.cut);
        for matched in &file.matches {
            for line in file.around(*matched, search.context) {
                let number = line.number;
                let sign = if number == *matched { ':' } else { '-' };
                report.push_line(&format!("{name}{sign}{number}{sign} {}", line.text));
            }
        }
    }
    if matches >= search.limit {
        report.limit_reached("matchLimitReached", "matches", search.limit);
    }
    if search.tally.is_full() {
        report.notice(
            format!(
                "Stopped after {} of lines: use less context or a narrower pattern",
                format_size(MOST_KEPT)
            ),
            None,
        );
    }
    if lines_cut {
        report.notice(
            format!("Some lines are cut at {MAX_LINE_CHARACTERS} characters: read the file to see them whole"),
            Some(("linesTruncated", Value::Bool(true))),
        );
    }
    if let Some(problems) = search.problems.notice() {
        report.notice(problems, None);
    }
    report.into_output("(no matches)")
}

#[cfg(test)]
mod tests;
