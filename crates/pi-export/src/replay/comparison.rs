//! Compares recorded and replayed conversations.

use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, EntryBody};
use serde_json::Value;

use super::ReplayDifference;
use super::script::END_OF_RECORD;

/// Maximum length of a message in a report.
const MAX_TEXT: usize = 2000;

/// Returns the message of an entry if it goes through the loop: prompts, responses, results.
pub(super) fn message_of(entry: &Entry) -> Option<&AgentMessage> {
    match &entry.body {
        EntryBody::Message(
            message @ (AgentMessage::User(_)
            | AgentMessage::ToolResult(_)
            | AgentMessage::Assistant(_)),
        ) => Some(message),
        _ => None,
    }
}

/// Returns the messages of a replay, without the marker at the end of the record.
pub(super) fn replayed_messages(entries: &[Arc<Entry>]) -> Vec<AgentMessage> {
    let messages = entries.iter().filter_map(|entry| message_of(entry));
    let mut messages: Vec<AgentMessage> = messages.cloned().collect();
    if let Some(AgentMessage::Assistant(last)) = messages.last()
        && last.error_message.as_deref() == Some(END_OF_RECORD)
    {
        messages.pop();
    }
    messages
}

/// Returns the first message in which two conversations differ.
pub(super) fn first_difference(
    recorded: &[AgentMessage],
    replayed: &[AgentMessage],
) -> Option<ReplayDifference> {
    for position in 0..recorded.len().max(replayed.len()) {
        let (before, after) = (recorded.get(position), replayed.get(position));
        let (before, after) = (before.map(comparable), after.map(comparable));
        if before != after {
            return Some(ReplayDifference {
                position: position + 1,
                recorded: before.as_ref().map(truncated),
                replayed: after.as_ref().map(truncated),
            });
        }
    }
    None
}

/// Returns the part of a message that must be equal: not its times, not the level it was requested
/// with, not how its text is split into blocks.
fn comparable(message: &AgentMessage) -> Value {
    let mut value = serde_json::to_value(message).unwrap_or_default();
    let is_aborted = value.get("stopReason").and_then(Value::as_str) == Some("aborted");
    let is_failure = value.get("isError") == Some(&Value::Bool(true));
    if let Some(fields) = value.as_object_mut() {
        for field in ["timestamp", "durationMs", "thinkingLevel", "usage"] {
            fields.shift_remove(field);
        }
        // The abort was decided by the user, not by the provider.
        if is_aborted {
            fields.shift_remove("errorMessage");
        }
        if is_failure {
            fields.shift_remove("details");
        }
        if let Some(content) = fields.get_mut("content")
            && let Some(text) = content.as_str()
        {
            *content = serde_json::json!([{"type": "text", "text": text}]);
        }
    }
    value
}

fn truncated(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
