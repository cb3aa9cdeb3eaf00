//! The result of a search: lines, cut to size, and notices about what is missing.

use pi_agent::ToolOutput;
use pi_ai::json::JsonObject;
use serde_json::{Value, json};

use crate::truncate::{MAX_BYTES, TextSize, TruncationLimits, format_size, truncate_head_prefix};

/// Lines found so far. What cannot be shown is counted, not kept.
#[derive(Debug, Default)]
pub(crate) struct SearchReport {
    beginning: String,
    size: TextSize,
    before: Vec<Notice>,
    after: Vec<Notice>,
}

#[derive(Debug)]
struct Notice {
    text: String,
    detail: Option<(&'static str, Value)>,
}

impl SearchReport {
    /// Adds a line.
    pub(crate) fn push_line(&mut self, line: &str) {
        let separator = usize::from(self.size.lines > 0);
        self.size.lines += 1;
        self.size.bytes += separator + line.len();
        if self.beginning.len() <= MAX_BYTES {
            if separator > 0 {
                self.beginning.push('\n');
            }
            self.beginning.push_str(line);
        }
    }

    /// Tells that the search stopped at its limit.
    pub(crate) fn limit_reached(&mut self, detail: &'static str, what: &str, limit: usize) {
        let more = limit.saturating_mul(2);
        self.before.push(Notice {
            text: format!("Stopped after {limit} {what}: use limit={more} or a narrower pattern"),
            detail: Some((detail, json!(limit))),
        });
    }

    /// Adds a notice, with a detail for applications.
    pub(crate) fn notice(&mut self, text: String, detail: Option<(&'static str, Value)>) {
        self.after.push(Notice { text, detail });
    }

    /// Returns the result; `nothing` is said when there are no lines.
    pub(crate) fn into_output(self, nothing: &str) -> ToolOutput {
        let cut = truncate_head_prefix(&self.beginning, self.size, TruncationLimits::bytes_only());
        let size_notice = cut.truncated.then(|| Notice {
            text: format!("Cut at {}", format_size(MAX_BYTES)),
            detail: Some(("truncation", json!(cut))),
        });
        let mut text = match self.size.lines {
            0 => nothing.to_owned(),
            _ => cut.content,
        };
        let mut details = JsonObject::new();
        let mut notices = Vec::new();
        for notice in self.before.into_iter().chain(size_notice).chain(self.after) {
            notices.push(notice.text);
            if let Some((name, value)) = notice.detail {
                details.insert(name.to_owned(), value);
            }
        }
        if !notices.is_empty() {
            text = format!("{text}\n\n[{}]", notices.join(". "));
        }
        ToolOutput {
            details: (!details.is_empty()).then_some(Value::Object(details)),
            ..ToolOutput::text(text)
        }
    }
}

/// Reads a count a model gave: at least one, whole.
pub(crate) fn count(given: Option<f64>, default: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least one, and beyond the largest number the cast saturates"
    )]
    given.map_or(default, |given| given.ceil().max(1.0) as usize)
}

/// Spells a path relative to the directory that was searched, with slashes.
pub(crate) fn relative(path: &std::path::Path, root: &std::path::Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let text = below.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}
