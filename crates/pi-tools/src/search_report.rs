//! What grep and find share: where a search starts, and its results as lines, truncated to the
//! limits, with notices about what is missing.

use std::path::{Path, PathBuf};

use pi_core::{FileKind, SearchError, ToolContext, ToolError, UnreadablePaths};
use pi_protocol::ToolOutput;
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

use crate::context::aborted;
use crate::paths::PathResolver;
use crate::truncate::{MAX_BYTES, TextSize, TruncationLimits, format_size, truncate_head_prefix};

/// Lines found so far. Lines that cannot be shown are only counted.
#[derive(Debug, Default)]
pub(crate) struct SearchReport {
    prefix: String,
    size: TextSize,
    limit_notices: Vec<ReportNotice>,
    notices: Vec<ReportNotice>,
}

#[derive(Debug)]
struct ReportNotice {
    text: String,
    detail: Option<(&'static str, Value)>,
}

impl SearchReport {
    pub(crate) fn push_line(&mut self, line: &str) {
        let separator = usize::from(self.size.lines > 0);
        self.size.lines += 1;
        self.size.bytes += separator + line.len();
        if self.prefix.len() <= MAX_BYTES {
            if separator > 0 {
                self.prefix.push('\n');
            }
            self.prefix.push_str(line);
        }
    }

    /// Adds a notice that the search stopped at its limit.
    pub(crate) fn limit_reached(&mut self, detail: &'static str, what: &str, limit: usize) {
        let more = limit.saturating_mul(2);
        self.limit_notices.push(ReportNotice {
            text: format!(
                "Limit of {limit} {what} reached. Use limit={more} for more, or refine the pattern"
            ),
            detail: Some((detail, json!(limit))),
        });
    }

    /// Adds a notice, optionally with a detail for applications.
    pub(crate) fn notice(&mut self, text: String, detail: Option<(&'static str, Value)>) {
        self.notices.push(ReportNotice { text, detail });
    }

    /// Returns the result; `empty_text` is used if there are no lines.
    pub(crate) fn into_output(self, empty_text: &str) -> ToolOutput {
        let truncation =
            truncate_head_prefix(&self.prefix, self.size, TruncationLimits::bytes_only());
        let size_notice = truncation.truncated.then(|| ReportNotice {
            text: format!("Truncated at {}", format_size(MAX_BYTES)),
            detail: Some(("truncation", json!(truncation))),
        });
        let mut text = match self.size.lines {
            0 => empty_text.to_owned(),
            _ => truncation.content,
        };
        let mut details = JsonObject::new();
        let mut texts = Vec::new();
        for notice in self
            .limit_notices
            .into_iter()
            .chain(size_notice)
            .chain(self.notices)
        {
            texts.push(notice.text);
            if let Some((name, value)) = notice.detail {
                details.insert(name.to_owned(), value);
            }
        }
        if !texts.is_empty() {
            text = format!("{text}\n\n[{}]", texts.join(". "));
        }
        ToolOutput {
            details: (!details.is_empty()).then_some(Value::Object(details)),
            ..ToolOutput::text(text)
        }
    }
}

/// Returns the path where a search starts and its kind: the path from the model, or the working
/// directory.
pub(crate) async fn search_root(
    cx: &ToolContext,
    raw_path: Option<&str>,
) -> Result<(PathBuf, FileKind), ToolError> {
    let raw_path = raw_path.filter(|path| !path.is_empty());
    let root = PathResolver::of(cx).resolve(raw_path.unwrap_or("."))?;
    match cx.env.files.status(&root).await {
        Ok(status) => Ok((root, status.kind)),
        Err(error) => Err(ToolError::new(format!(
            "Cannot search {}: {error}",
            root.display()
        ))),
    }
}

/// Returns the error of a search with a valid query.
pub(crate) fn search_failure(error: SearchError) -> ToolError {
    match error {
        SearchError::Canceled => aborted(),
        SearchError::Failed(reason) => ToolError::new(format!("Search failed: {reason}")),
        other => ToolError::new(other.to_string()),
    }
}

pub(crate) fn unreadable_notice(unreadable: &UnreadablePaths) -> Option<String> {
    // A path may contain newlines; the notice is a single line.
    let first = unreadable.first.replace('\n', " ");
    match unreadable.count {
        0 => None,
        1 => Some(format!("Could not read {first}")),
        more => Some(format!("Could not read {more} paths, the first: {first}")),
    }
}

/// Converts a count from the model to an integer of at least 1.
pub(crate) fn parse_count(given: Option<f64>, default: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least 1, and the cast saturates for large numbers"
    )]
    given.map_or(default, |given| given.ceil().max(1.0) as usize)
}

/// Returns a path relative to the search directory, with forward slashes.
pub(crate) fn relative_path(path: &Path, root: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let text = below.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}
