//! Which entries may follow a branch, and their normal form.

use pi_protocol::{
    AgentMessage, CompactionEntry, ContextEditEntry, EntryBody, EntryId, EntryKind, MessageRole,
    SessionInfoEntry, StopReason,
};
use serde_json::{Value, json};

use super::branch::SessionBranch;
use crate::error::SessionError;

impl SessionBranch<'_> {
    /// Validates and normalizes an entry before it is appended with this ID.
    pub(super) fn validate(self, body: EntryBody, id: &EntryId) -> Result<EntryBody, SessionError> {
        Ok(match body {
            EntryBody::Message(AgentMessage::Assistant(message))
                if message.stop_reason == StopReason::Pending =>
            {
                return Err(SessionError::NotAMessage {
                    what: "an unfinished assistant message",
                });
            }
            EntryBody::SessionInfo(SessionInfoEntry { name }) => SessionInfoEntry {
                name: Some(name.as_deref().map(one_line).unwrap_or_default()),
            }
            .into(),
            EntryBody::Compaction(compaction) => CompactionEntry {
                first_kept_entry_id: compaction.first_kept_entry_id.or_else(|| Some(id.clone())),
                ..compaction
            }
            .into(),
            EntryBody::Label(label) => {
                self.source.slot(label.target_id.as_str())?;
                label.into()
            }
            EntryBody::ContextEdit(edit) => self.validate_edit(edit)?.into(),
            body => body,
        })
    }

    fn validate_edit(self, mut edit: ContextEditEntry) -> Result<ContextEditEntry, SessionError> {
        let id = edit.target_id.clone();
        let target = self.source.slot(id.as_str())?;
        if !self.contains(target) {
            return Err(SessionError::NotOnBranch { id });
        }
        let takes_blocks = match self.source.record(target)?.kind {
            EntryKind::Message(MessageRole::Assistant | MessageRole::ToolResult) => true,
            EntryKind::Message(MessageRole::User) | EntryKind::CustomMessage => false,
            _ => return Err(SessionError::NotEditable { id }),
        };
        if let Some(replacement) = &mut edit.replacement {
            match &replacement.content {
                Value::String(text) if takes_blocks => {
                    replacement.content = json!([{ "type": "text", "text": text }]);
                }
                Value::String(_) | Value::Array(_) => {}
                _ => return Err(SessionError::InvalidReplacement { id }),
            }
        }
        Ok(edit)
    }
}

/// Joins the lines of a name with spaces.
fn one_line(name: &str) -> String {
    let lines: Vec<&str> = name
        .trim()
        .split(['\r', '\n'])
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ").trim().to_owned()
}
