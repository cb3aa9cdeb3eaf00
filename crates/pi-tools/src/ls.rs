//! The `ls` tool: lists a directory.

mod order;

use futures_util::future::BoxFuture;
use pi_core::{DirectoryEntry, FileError, FileKind, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{ReplayPolicy, Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::{ToolPrompt, aborted, declare, parse_arguments};
use crate::paths::PathResolver;
use crate::truncate::{MAX_BYTES, TruncationLimits, format_size, truncate_head};
use order::NameOrder;

/// System prompt text of the ls tool.
pub const LS_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "List directory contents",
    guidelines: &[],
};

const DEFAULT_LIMIT: f64 = 500.0;

pub struct LsTool {
    declaration: ToolDeclaration,
}

#[derive(Deserialize)]
struct LsArguments {
    path: Option<String>,
    limit: Option<f64>,
}

impl Default for LsTool {
    fn default() -> Self {
        let declaration = declare(
            "ls",
            &format!(
                "List directory contents, sorted alphabetically, with '/' after directories. Includes \
                 dotfiles. Output is truncated to {DEFAULT_LIMIT} entries or {} (whichever is reached first).",
                format_size(MAX_BYTES)
            ),
            json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "Directory to list (default: working directory)",
                    },
                    "limit": {
                        "type": "number",
                        "description": format!("Maximum number of entries (default: {DEFAULT_LIMIT})"),
                    },
                },
            }),
        );
        Self { declaration }
    }
}

async fn run(cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
    let arguments: LsArguments = parse_arguments(arguments)?;
    cx.cancel
        .run_until_cancelled(list(&cx, arguments))
        .await
        .ok_or_else(aborted)?
}

async fn list(cx: &ToolContext, arguments: LsArguments) -> Result<ToolOutput, ToolError> {
    let raw_path = arguments.path.filter(|path| !path.is_empty());
    let raw_path = raw_path.as_deref().unwrap_or(".");
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).max(1.0);
    let path = PathResolver::of(cx).resolve(raw_path)?;
    let failure =
        |error: FileError| ToolError::new(format!("Cannot list {}: {error}", path.display()));
    let files = &cx.env.files;
    let status = files.status(&path).await.map_err(failure)?;
    if status.kind != FileKind::Directory {
        return Err(ToolError::new(format!(
            "Cannot list {}: {}, not a directory; use read for files",
            path.display(),
            status.kind
        )));
    }
    let entries = files.list(&path).await.map_err(failure)?;
    Ok(output(&sorted_names(&entries), limit))
}

impl Tool for LsTool {
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

/// Returns the names to show; entries with unknown kind are left out.
fn sorted_names(entries: &[DirectoryEntry]) -> Vec<String> {
    let mut names: Vec<(NameOrder, &str)> = entries
        .iter()
        .filter_map(|entry| {
            let suffix = match entry.kind? {
                FileKind::Directory => "/",
                _ => "",
            };
            Some((NameOrder::of(&entry.name.to_string_lossy()), suffix))
        })
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|(name, suffix)| name.into_name() + suffix)
        .collect()
}

fn output(names: &[String], limit: f64) -> ToolOutput {
    if names.is_empty() {
        return ToolOutput::text("(empty directory)");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is correct for out-of-range numbers"
    )]
    let shown = names.get(..limit.ceil() as usize).unwrap_or(names);
    let truncation = truncate_head(&shown.join("\n"), TruncationLimits::bytes_only());
    let mut details = JsonObject::new();
    let mut notices = Vec::new();
    if shown.len() < names.len() {
        notices.push(format!(
            "Limited to {limit} entries. Use limit={} for more",
            limit * 2.0
        ));
        details.insert("entryLimitReached".to_owned(), number(limit));
    }
    let mut text = truncation.content.clone();
    if truncation.truncated {
        notices.push(format!("Truncated at {}", format_size(MAX_BYTES)));
        details.insert("truncation".to_owned(), json!(truncation));
    }
    if !notices.is_empty() {
        text = format!("{text}\n\n[{}]", notices.join(". "));
    }
    ToolOutput {
        details: (!details.is_empty()).then_some(Value::Object(details)),
        ..ToolOutput::text(text)
    }
}

/// Serializes integers without a fraction, as JavaScript does.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only integers in range are cast"
)]
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return json!(value as i64);
    }
    json!(value)
}

#[cfg(test)]
mod tests;
