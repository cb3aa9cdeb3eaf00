//! The preview of the selected entry: what it cost and changed, and the beginning of its text.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pi_protocol::{AgentMessage, Entry, EntryBody};
use pi_tui::{ColorToken, wrap_text};

use super::entry_summary::copy_text;
use super::label_time::entry_time;
use super::node_facts::{NodeFacts, painted_lines};
use super::turn_totals::TurnTotals;
use crate::canvas::clean;
use crate::dialogs::canvas::DialogCanvas;
use crate::dialogs::plain_text::one_line;
use crate::text::thousands::group_thousands;

/// Files named in the preview.
const MAX_FILES: usize = 6;

/// What the preview shows of an entry.
pub(super) struct EntryPreview<'a> {
    pub(super) entry: &'a Entry,
    pub(super) facts: Option<&'a NodeFacts>,
    /// When the entry was appended, in milliseconds since the epoch; 0 if unknown.
    pub(super) timestamp_ms: i64,
    pub(super) now_ms: i64,
    pub(super) zone: &'a TimeZone,
}

impl EntryPreview<'_> {
    /// Returns the lines that fit.
    pub(super) fn lines(&self, width: usize, rows: usize, canvas: &DialogCanvas) -> Vec<String> {
        let muted = |text: &str| canvas.paint(ColorToken::Muted, text);
        let mut lines: Vec<String> = wrap_text(&self.head(), width)
            .iter()
            .map(|line| muted(line))
            .collect();
        if let Some(turn) = self.facts.and_then(|facts| facts.turn.as_deref()) {
            lines.extend(file_lines(turn, canvas));
        }
        let text = copy_text(self.entry).unwrap_or_default();
        let left = rows.saturating_sub(lines.len() + 1);
        let beginning: String = text.trim().chars().take(left * width * 2).collect();
        let text = wrap_text(&clean(&beginning), width);
        if left > 0 && !beginning.is_empty() {
            lines.push(String::new());
            lines.extend(text.into_iter().take(left));
        }
        lines.truncate(rows);
        lines
    }

    /// Returns what the entry is, when it was made, and what it has cost.
    fn head(&self) -> String {
        let mut parts = vec![kind_name(self.entry)];
        parts.extend(self.time());
        if let Some(facts) = self.facts {
            parts.extend(facts.time_and_cost().into_iter().flatten());
            if let Some(turn) = &facts.turn {
                parts.extend(counted(turn.requests, "request"));
                parts.extend(counted(turn.tools, "tool"));
            }
        }
        if let EntryBody::Message(AgentMessage::Assistant(response)) = &self.entry.body {
            let usage = &response.usage;
            let input = usage.input + usage.cache_read + usage.cache_write;
            if input + usage.output > 0 {
                let [input, output] = [input, usage.output].map(group_thousands);
                parts.push(format!("{input} tokens in, {output} out"));
            }
        }
        parts.join(" · ")
    }

    fn time(&self) -> Option<String> {
        let known = self.timestamp_ms > 0;
        let then = Timestamp::from_millisecond(self.timestamp_ms).ok();
        then.filter(|_| known)
            .and_then(|then| entry_time(then, self.now_ms, self.zone))
    }
}

fn kind_name(entry: &Entry) -> String {
    let name = match &entry.body {
        EntryBody::Message(AgentMessage::User(_)) => "Prompt",
        EntryBody::Message(AgentMessage::Assistant(response)) => {
            let model = one_line(&response.model);
            return if model.is_empty() {
                "Response".to_owned()
            } else {
                format!("Response of {model}")
            };
        }
        EntryBody::Message(AgentMessage::ToolResult(result)) => {
            let failed = if result.is_error { " (failed)" } else { "" };
            return format!("Result of {}{failed}", one_line(&result.tool_name));
        }
        EntryBody::Message(AgentMessage::BashExecution(_)) => "Shell command",
        EntryBody::Compaction(_) => "Compaction",
        EntryBody::BranchSummary(_) => "Branch summary",
        EntryBody::CustomMessage(_) | EntryBody::Message(AgentMessage::Custom(_)) => "Message",
        other => return one_line(&other.type_name().replace('_', " ")),
    };
    name.to_owned()
}

fn counted(count: usize, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        count => Some(format!("{count} {what}s")),
    }
}

fn file_lines(turn: &TurnTotals, canvas: &DialogCanvas) -> Vec<String> {
    let shown = turn.files.iter().take(MAX_FILES);
    let mut lines: Vec<String> = shown
        .map(|file| {
            let changed = painted_lines((file.added, file.removed), canvas);
            format!("{} {changed}", one_line(&file.path))
        })
        .collect();
    let hidden = turn.files.len().saturating_sub(MAX_FILES);
    if hidden > 0 {
        lines.push(canvas.paint(ColorToken::Muted, &format!("and {hidden} more")));
    }
    lines
}
