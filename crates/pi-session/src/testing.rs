//! Test paths: chains of entries written as JSON, like in session files. Also for the tests of crates
//! that read projections.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

use std::sync::Arc;

use pi_protocol::timestamp::to_iso;
use pi_protocol::{AgentMessage, Entry, EntryId, Model};
use serde_json::{Value, json};

use crate::context::{Projection, project_path};

/// Timestamp of the first entry; each following one is a second later.
pub const START_MS: i64 = 1_767_225_600_000;

/// A path that grows at its leaf. Entry IDs are `e0`, `e1` and so on.
#[derive(Debug, Clone, Default)]
pub struct TestPath {
    pub entries: Vec<Arc<Entry>>,
}

impl TestPath {
    pub fn of(entries: impl IntoIterator<Item = Value>) -> Self {
        let mut path = Self::default();
        for entry in entries {
            path.push(entry);
        }
        path
    }

    /// Appends an entry given its type-specific fields, or a message given its role.
    pub fn push(&mut self, mut fields: Value) -> EntryId {
        let position = self.entries.len();
        let now = START_MS + i64::try_from(position).unwrap() * 1000;
        if fields.get("role").is_some() {
            if fields.get("timestamp").is_none() {
                fields["timestamp"] = json!(now);
            }
            fields = json!({"type": "message", "message": fields});
        }
        fields["id"] = json!(format!("e{position}"));
        fields["timestamp"] = json!(to_iso(now));
        fields["parentId"] = json!(self.entries.last().map(|entry| entry.id.as_str()));
        let entry: Entry = serde_json::from_value(fields).unwrap();
        self.entries.push(Arc::new(entry));
        EntryId::from(format!("e{position}"))
    }

    pub fn projection(&self) -> Projection {
        project_path(&self.entries)
    }
}

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn response(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "api": "a",
        "provider": "mock", "model": "alpha", "stopReason": "stop"})
}

/// A response that reports this many tokens.
pub fn response_with_tokens(text: &str, tokens: u64) -> Value {
    let mut response = response(text);
    response["usage"] = json!({"totalTokens": tokens});
    response
}

/// A response that calls a tool once per ID.
pub fn tool_calls(ids: &[&str]) -> Value {
    let mut response = response("call");
    let calls = ids
        .iter()
        .map(|id| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": id}}));
    response["content"].as_array_mut().unwrap().extend(calls);
    response["stopReason"] = json!("toolUse");
    response
}

pub fn result(call: &str, text: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": call, "toolName": "read",
        "content": [{"type": "text", "text": text}], "isError": false})
}

pub fn custom_message(text: &str) -> Value {
    json!({"type": "custom_message", "customType": "note", "content": text, "display": true})
}

pub fn metadata() -> Value {
    json!({"type": "custom", "customType": "state"})
}

pub fn compaction(summary: &str, first_kept: &str) -> Value {
    json!({"type": "compaction", "summary": summary, "firstKeptEntryId": first_kept,
        "tokensBefore": 1})
}

pub fn omission(target: &str) -> Value {
    json!({"type": "context_edit", "targetId": target, "replacement": null})
}

pub fn replacement(target: &str, content: &Value) -> Value {
    json!({"type": "context_edit", "targetId": target, "replacement": {"content": content}})
}

/// A model with a context window of 1000 tokens and an output limit of 100.
pub fn model() -> Model {
    serde_json::from_value(json!({
        "id": "alpha", "name": "Alpha", "api": "a", "provider": "mock", "baseUrl": "",
        "reasoning": true, "input": ["text"], "contextWindow": 1000, "maxTokens": 100,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    }))
    .unwrap()
}

/// Describes each message by its role and text.
pub fn described<'messages>(
    messages: impl IntoIterator<Item = &'messages AgentMessage>,
) -> Vec<String> {
    messages.into_iter().map(description).collect()
}

fn description(message: &AgentMessage) -> String {
    let value = serde_json::to_value(message).unwrap();
    let text = match (&value["content"], &value["summary"], &value["command"]) {
        (Value::String(text), _, _) | (_, Value::String(text), _) | (_, _, Value::String(text)) => {
            text.clone()
        }
        (Value::Array(blocks), _, _) => {
            let texts = blocks.iter().map(|block| match block["type"].as_str() {
                Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
                _ => format!("<{}>", block["id"].as_str().unwrap_or_default()),
            });
            format!("[{}]", texts.collect::<String>())
        }
        _ => String::new(),
    };
    format!("{} {text}", value["role"].as_str().unwrap_or_default())
}
