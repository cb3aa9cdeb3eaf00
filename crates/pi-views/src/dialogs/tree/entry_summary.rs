//! One-line summaries of session entries.

use pi_protocol::{
    AgentMessage, AssistantBlock, Entry, EntryBody, StopReason, ToolCall, join_text,
};
use pi_tui::ColorToken;
use serde_json::Value;

use super::super::plain_text::one_line;

/// Maximum characters of a text shown and searched.
const MAX_TEXT_CHARS: usize = 200;
/// Maximum characters shown of a command or of arguments.
const MAX_COMMAND_CHARS: usize = 50;

/// A one-line summary of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntrySummary {
    /// The role or kind of the entry, with its color.
    pub(super) prefix: (ColorToken, String),
    pub(super) text: String,
    /// The color of the text; `None` for the default.
    pub(super) color: Option<ColorToken>,
    /// Whether the entry only calls tools, whose results are more informative.
    pub(super) only_calls_tools: bool,
}

/// Shown for an entry that cannot be read.
pub(super) static UNREADABLE: EntrySummary = EntrySummary {
    prefix: (ColorToken::Error, String::new()),
    text: String::new(),
    color: None,
    only_calls_tools: false,
};

impl EntrySummary {
    fn with_prefix(token: ColorToken, prefix: &str, text: &str) -> Self {
        Self {
            prefix: (token, prefix.to_owned()),
            text: truncated(text, MAX_TEXT_CHARS),
            color: None,
            only_calls_tools: false,
        }
    }

    fn note(token: ColorToken, text: &str) -> Self {
        Self::with_prefix(token, &one_line(text), "")
    }

    /// Returns the lower-case text for searching.
    pub(super) fn search_text(&self) -> String {
        format!("{}{}", self.prefix.1, self.text).to_lowercase()
    }
}

/// Summarizes an entry; `call` finds the tool call of a result.
pub(super) fn summary_of(
    entry: &Entry,
    call: impl FnOnce(&str) -> Option<ToolCall>,
) -> EntrySummary {
    use ColorToken::{BorderAccent, CustomMessageLabel, Dim, Warning};
    match &entry.body {
        EntryBody::Message(message) => message_summary(message, call),
        EntryBody::ModelChange(change) => {
            EntrySummary::note(Dim, &format!("[model: {}]", change.model_id))
        }
        EntryBody::ThinkingLevelChange(change) => {
            EntrySummary::note(Dim, &format!("[thinking: {}]", change.thinking_level))
        }
        EntryBody::Compaction(compaction) => {
            let thousands = (compaction.tokens_before + 500) / 1_000;
            EntrySummary::note(BorderAccent, &format!("[compaction: {thousands}k tokens]"))
        }
        EntryBody::BranchSummary(summary) => {
            EntrySummary::with_prefix(Warning, "[branch summary] ", &summary.summary)
        }
        EntryBody::ContextEdit(edit) => {
            let what = if edit.replacement.is_some() {
                "replaced"
            } else {
                "excluded"
            };
            EntrySummary::note(Dim, &format!("[context: {} {what}]", edit.target_id))
        }
        EntryBody::Custom(custom) => {
            EntrySummary::note(Dim, &format!("[custom: {}]", custom.custom_type))
        }
        EntryBody::CustomMessage(custom) => {
            let prefix = format!("[{}] ", one_line(&custom.custom_type));
            EntrySummary::with_prefix(CustomMessageLabel, &prefix, &custom.content.joined_text())
        }
        EntryBody::Label(label) => {
            let label = label.label.as_deref().unwrap_or("removed");
            EntrySummary::note(Dim, &format!("[label: {label}]"))
        }
        EntryBody::SessionInfo(info) => {
            let name = info.name.as_deref().unwrap_or("none");
            EntrySummary::note(Dim, &format!("[session name: {name}]"))
        }
        EntryBody::Usage(usage) => EntrySummary::note(Dim, &format!("[usage: {}]", usage.kind)),
        other @ EntryBody::Unknown(_) => {
            EntrySummary::note(Dim, &format!("[{}]", other.type_name()))
        }
    }
}

fn message_summary(
    message: &AgentMessage,
    call: impl FnOnce(&str) -> Option<ToolCall>,
) -> EntrySummary {
    use ColorToken::{Accent, Dim, Error, Muted, Success};
    match message {
        AgentMessage::User(user) => {
            let text = user.content.joined_text();
            let mut summary_of = EntrySummary::with_prefix(Accent, "user: ", &text);
            if summary_of.text.is_empty() {
                (summary_of.text, summary_of.color) = ("(no text)".to_owned(), Some(Muted));
            }
            summary_of
        }
        AgentMessage::Assistant(assistant) => {
            let mut summary_of =
                EntrySummary::with_prefix(Success, "assistant: ", &assistant.text());
            if !summary_of.text.is_empty() {
                return summary_of;
            }
            let (text, color) = match (assistant.stop_reason, &assistant.error_message) {
                (StopReason::Aborted, _) => ("(stopped)".to_owned(), Muted),
                (_, Some(error)) => (one_line(error), Error),
                (StopReason::Error, None) => ("(failed)".to_owned(), Error),
                (_, None) => ("(no text)".to_owned(), Muted),
            };
            let ended_well = matches!(
                assistant.stop_reason,
                StopReason::Stop | StopReason::ToolUse
            );
            summary_of.only_calls_tools = ended_well;
            (summary_of.text, summary_of.color) = (text, Some(color));
            summary_of
        }
        AgentMessage::ToolResult(result) => {
            let line = match call(&result.tool_call_id) {
                Some(call) => call_line(&call),
                None => format!("[{}]", result.tool_name),
            };
            if result.is_error {
                EntrySummary::note(Error, &format!("✗ {line}"))
            } else {
                EntrySummary::note(Muted, &line)
            }
        }
        AgentMessage::BashExecution(bash) => {
            EntrySummary::with_prefix(Dim, "[bash] ", &bash.command)
        }
        AgentMessage::Custom(custom) => {
            let prefix = format!("[{}] ", one_line(&custom.custom_type));
            EntrySummary::with_prefix(
                ColorToken::CustomMessageLabel,
                &prefix,
                &custom.content.joined_text(),
            )
        }
        AgentMessage::System(_) => EntrySummary::note(Dim, "[system]"),
        _ => EntrySummary::note(Dim, "[message]"),
    }
}

/// Summarizes a tool call in one line.
fn call_line(call: &ToolCall) -> String {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64);
    let path = text("path").or_else(|| text("file_path"));
    let detail = match call.name.as_str() {
        "read" => {
            let range = match (number("offset"), number("limit")) {
                (None, None) => String::new(),
                (offset, None) => format!(":{}", offset.unwrap_or(1)),
                (offset, Some(limit)) => {
                    let first = offset.unwrap_or(1);
                    format!(":{first}-{}", first.saturating_add(limit).saturating_sub(1))
                }
            };
            format!("{}{range}", path.unwrap_or_default())
        }
        "write" | "edit" => path.unwrap_or_default().to_owned(),
        "ls" => path.unwrap_or(".").to_owned(),
        "bash" => truncated(text("command").unwrap_or_default(), MAX_COMMAND_CHARS),
        "grep" => {
            let pattern = text("pattern").unwrap_or_default();
            format!("/{pattern}/ in {}", path.unwrap_or("."))
        }
        "find" => {
            let pattern = text("pattern").unwrap_or_default();
            format!("{pattern} in {}", path.unwrap_or("."))
        }
        _ => truncated(
            &Value::Object(call.arguments.clone()).to_string(),
            MAX_COMMAND_CHARS,
        ),
    };
    format!("[{}: {detail}]", call.name)
}

/// Returns the beginning of a text as one line.
fn truncated(text: &str, longest: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns the tool call with this ID, if the entry contains it.
pub(super) fn call_of(entry: &Entry, id: &str) -> Option<ToolCall> {
    let EntryBody::Message(AgentMessage::Assistant(assistant)) = &entry.body else {
        return None;
    };
    assistant.content.iter().find_map(|block| match block {
        AssistantBlock::ToolCall(call) if call.id == id => Some(call.clone()),
        _ => None,
    })
}

/// Returns the text that copying an entry copies, if it has any.
pub(super) fn copy_text(entry: &Entry) -> Option<String> {
    let text = match &entry.body {
        EntryBody::Message(AgentMessage::User(user)) => user.content.joined_text(),
        EntryBody::Message(AgentMessage::Assistant(assistant)) => {
            let text = assistant.text();
            if text.is_empty() {
                assistant.error_message.clone().unwrap_or_default()
            } else {
                text
            }
        }
        EntryBody::Message(AgentMessage::ToolResult(result)) => {
            join_text(&result.content).into_owned()
        }
        EntryBody::Message(AgentMessage::BashExecution(bash)) => bash.command.clone(),
        EntryBody::Message(AgentMessage::Custom(custom)) => custom.content.joined_text(),
        EntryBody::CustomMessage(custom) => custom.content.joined_text(),
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(summary) => summary.summary.clone(),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}
