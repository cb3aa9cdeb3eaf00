//! Outline of all entries for the page: position in the tree and a line of text.
//!
//! The tree view and the filters need no more than this; the JSON of an entry is parsed in the
//! browser when it becomes visible.

use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, Entry, EntryBody, EntryId, InputBlock,
    StopReason, ToolResultMessage, TreeNode,
};
use serde::Serialize;

use crate::redaction::Redactor;

/// Maximum number of characters per entry in the tree.
const LINE_LENGTH: usize = 140;

#[derive(Debug, Serialize)]
pub(super) struct OutlineNode {
    id: EntryId,
    /// Index of the parent entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    kind: OutlineKind,
    /// Milliseconds since the epoch.
    time: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The call that a result belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// The calls of a response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum OutlineKind {
    System,
    User,
    Assistant,
    ToolResult,
    Bash,
    /// An extension message visible to the user.
    Custom,
    /// An extension message visible only to the model.
    Hidden,
    Compaction,
    BranchSummary,
    Model,
    Thinking,
    Label,
    Name,
    Usage,
    Edit,
    State,
    Unknown,
    /// A line that cannot be parsed.
    Unreadable,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

impl OutlineNode {
    /// Outlines an entry; `None` is an entry that cannot be parsed.
    pub(super) fn new(node: TreeNode, entry: Option<&Entry>, redaction: &Redactor) -> Self {
        let mut outline = Self {
            id: node.id,
            parent: node.parent,
            kind: OutlineKind::Unreadable,
            time: node.timestamp_ms,
            text: String::new(),
            label: node.label.map(|label| label.text),
            call: None,
            calls: Vec::new(),
            failed: false,
        };
        if let Some(entry) = entry {
            outline.describe(&entry.body, redaction);
        }
        outline
    }

    fn describe(&mut self, body: &EntryBody, redaction: &Redactor) {
        let (kind, text) = match body {
            EntryBody::Message(message) => return self.describe_message(message, redaction),
            EntryBody::ModelChange(change) => (
                OutlineKind::Model,
                format!("{}/{}", change.provider, change.model_id),
            ),
            EntryBody::ThinkingLevelChange(change) => {
                (OutlineKind::Thinking, change.thinking_level.clone())
            }
            EntryBody::Usage(usage) => (OutlineKind::Usage, usage.kind.clone()),
            EntryBody::Compaction(compaction) => (
                OutlineKind::Compaction,
                line(&compaction.summary, redaction),
            ),
            EntryBody::BranchSummary(branch) => {
                (OutlineKind::BranchSummary, line(&branch.summary, redaction))
            }
            EntryBody::ContextEdit(edit) => (OutlineKind::Edit, edit.target_id.to_string()),
            EntryBody::Custom(custom) => (OutlineKind::State, custom.custom_type.clone()),
            EntryBody::CustomMessage(custom) => (
                extension_message(custom.display),
                line(&custom.content.joined_text(), redaction),
            ),
            EntryBody::Label(label) => {
                (OutlineKind::Label, label.label.clone().unwrap_or_default())
            }
            EntryBody::SessionInfo(info) => {
                (OutlineKind::Name, info.name.clone().unwrap_or_default())
            }
            EntryBody::Unknown(_) => (OutlineKind::Unknown, body.type_name().to_owned()),
        };
        self.kind = kind;
        self.text = text;
    }

    fn describe_message(&mut self, message: &AgentMessage, redaction: &Redactor) {
        let (kind, text) = match message {
            AgentMessage::System(_) => (OutlineKind::System, String::new()),
            AgentMessage::User(message) => (OutlineKind::User, message.content.joined_text()),
            AgentMessage::Assistant(message) => return self.describe_response(message, redaction),
            AgentMessage::ToolResult(result) => return self.describe_result(result, redaction),
            AgentMessage::BashExecution(bash) => {
                self.failed = bash.cancelled || bash.exit_code.is_some_and(|code| code != 0);
                (OutlineKind::Bash, bash.command.clone())
            }
            AgentMessage::Custom(custom) => (
                extension_message(custom.display),
                custom.content.joined_text(),
            ),
            AgentMessage::BranchSummary(branch) => {
                (OutlineKind::BranchSummary, branch.summary.clone())
            }
            AgentMessage::CompactionSummary(compaction) => {
                (OutlineKind::Compaction, compaction.summary.clone())
            }
            _ => (OutlineKind::Unknown, String::new()),
        };
        self.kind = kind;
        self.text = line(&text, redaction);
    }

    fn describe_response(&mut self, response: &AssistantMessage, redaction: &Redactor) {
        self.kind = OutlineKind::Assistant;
        self.failed = matches!(
            response.stop_reason,
            StopReason::Error | StopReason::Aborted
        );
        self.calls = response.tool_calls().map(|call| call.id.clone()).collect();
        let text = response.content.iter().find_map(AssistantBlock::as_text);
        self.text = match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => line(text, redaction),
            None if self.calls.is_empty() => line(
                response.error_message.as_deref().unwrap_or_default(),
                redaction,
            ),
            None => {
                let names: Vec<_> = response
                    .tool_calls()
                    .map(|call| call.name.as_str())
                    .collect();
                line(&names.join(", "), redaction)
            }
        };
    }

    fn describe_result(&mut self, result: &ToolResultMessage, redaction: &Redactor) {
        self.kind = OutlineKind::ToolResult;
        self.failed = result.is_error;
        self.call = Some(result.tool_call_id.clone());
        let text = result.content.iter().find_map(InputBlock::as_text);
        let text = text.map(|text| line(text, redaction)).unwrap_or_default();
        self.text = format!("{}: {text}", result.tool_name);
    }
}

fn extension_message(is_displayed: bool) -> OutlineKind {
    if is_displayed {
        OutlineKind::Custom
    } else {
        OutlineKind::Hidden
    }
}

/// Returns the beginning of a text on one line. Secrets are removed before truncation, since part
/// of a secret would not be recognized.
fn line(text: &str, redaction: &Redactor) -> String {
    let text = redaction.redact(text);
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for character in word.chars() {
            if length >= LINE_LENGTH {
                line.push('…');
                return line;
            }
            line.push(character);
            length += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn a_line_is_short_and_shows_no_part_of_a_secret() {
        let redaction = Redactor::new([SecretString::from("sk-0123456789")]);
        assert_eq!(line("  one\n\ttwo  ", &redaction), "one two");
        let text = format!("{} sk-0123456789", "x".repeat(LINE_LENGTH - 5));
        let cut = line(&text, &redaction);
        assert_eq!(cut.chars().count(), LINE_LENGTH + 1);
        assert!(cut.ends_with(" [red…"), "{cut}");
    }
}
