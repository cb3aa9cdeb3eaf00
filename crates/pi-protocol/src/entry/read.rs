//! Parses entries. Any object with a type and an ID is an entry; unexpected fields are kept.
//! Messages, which make up most of every session, take a fast path; anything unusual falls back to
//! the lenient parser.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    BranchSummaryEntry, CompactionEntry, ContextEditEntry, CustomEntry, CustomMessageEntry, Entry,
    EntryBody, EntryKind, LabelEntry, ModelChangeEntry, SessionInfoEntry, ThinkingLevelChangeEntry,
    UnknownEntry, UsageEntry,
};
use crate::app_message::AgentMessage;
use crate::id::EntryId;
use crate::json::JsonObject;

impl Entry {
    /// Parses the line of an entry of a known kind.
    pub fn read(line: &str, kind: EntryKind) -> Result<Self, serde_json::Error> {
        if matches!(kind, EntryKind::Message(_))
            && let Ok(message) = serde_json::from_str::<MessageLine>(line)
        {
            return Ok(message.into());
        }
        crate::json::from_str_lenient(line)
    }
}

/// A message line of the usual shape.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageLine {
    #[serde(rename = "type")]
    _type: MessageType,
    id: EntryId,
    parent_id: Option<EntryId>,
    timestamp: String,
    #[serde(deserialize_with = "AgentMessage::deserialize_role_first")]
    message: AgentMessage,
    #[serde(flatten)]
    extra: JsonObject,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum MessageType {
    Message,
}

impl From<MessageLine> for Entry {
    fn from(line: MessageLine) -> Self {
        Self {
            id: line.id,
            parent_id: line.parent_id,
            timestamp: line.timestamp,
            body: EntryBody::Message(line.message),
            extra: line.extra,
        }
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = JsonObject::deserialize(deserializer)?;
        let mut text = |name| match fields.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let type_name =
            text("type").ok_or_else(|| serde::de::Error::custom("entry without a `type`"))?;
        let id = text("id").ok_or_else(|| serde::de::Error::custom("entry without an `id`"))?;
        let parent_id = text("parentId").map(EntryId::from);
        let timestamp = text("timestamp").unwrap_or_default();
        let (body, extra) = read_body(type_name, fields);
        Ok(Self {
            id: EntryId::from(id),
            parent_id,
            timestamp,
            body,
            extra,
        })
    }
}

/// Parses the type-specific fields; if they do not match, the entry is kept as an unknown one.
fn read_body(type_name: String, mut fields: JsonObject) -> (EntryBody, JsonObject) {
    if type_name == "message"
        && fields.get("message").is_some_and(Value::is_object)
        && let Some(message) = fields.shift_remove("message")
    {
        return match AgentMessage::deserialize(&message) {
            Ok(message) => (EntryBody::Message(message), fields),
            Err(_) => {
                fields.insert("message".to_owned(), message);
                (unknown(type_name, fields), JsonObject::new())
            }
        };
    }
    match read_known(&type_name, fields) {
        Ok(read) => read,
        Err(fields) => (unknown(type_name, fields), JsonObject::new()),
    }
}

fn unknown(type_name: String, fields: JsonObject) -> EntryBody {
    EntryBody::Unknown(UnknownEntry { type_name, fields })
}

fn read_known(type_name: &str, fields: JsonObject) -> Result<(EntryBody, JsonObject), JsonObject> {
    match type_name {
        "model_change" => read_fields::<ModelChangeEntry>(fields),
        "thinking_level_change" => read_fields::<ThinkingLevelChangeEntry>(fields),
        "usage" => read_fields::<UsageEntry>(fields),
        "compaction" => read_fields::<CompactionEntry>(fields),
        "branch_summary" => read_fields::<BranchSummaryEntry>(fields),
        "context_edit" => read_fields::<ContextEditEntry>(fields),
        "custom" => read_fields::<CustomEntry>(fields),
        "custom_message" => read_fields::<CustomMessageEntry>(fields),
        "label" => read_fields::<LabelEntry>(fields),
        "session_info" => read_fields::<SessionInfoEntry>(fields),
        _ => Err(fields),
    }
}

/// Parses a body and the remaining fields; returns the fields unchanged if they do not match.
fn read_fields<Body>(fields: JsonObject) -> Result<(EntryBody, JsonObject), JsonObject>
where
    Body: for<'any> Deserialize<'any> + Into<EntryBody>,
{
    #[derive(Deserialize)]
    struct WithExtra<Body> {
        #[serde(flatten)]
        body: Body,
        #[serde(flatten)]
        extra: JsonObject,
    }
    let value = Value::Object(fields);
    if let Ok(read) = WithExtra::<Body>::deserialize(&value) {
        return Ok((read.body.into(), read.extra));
    }
    match value {
        Value::Object(fields) => Err(fields),
        _ => Err(JsonObject::new()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::entry::MessageRole;

    const MESSAGE: EntryKind = EntryKind::Message(MessageRole::Unknown);

    fn messages() -> Vec<Value> {
        let cost =
            json!({"input": 0, "output": 0.5, "cacheRead": 0, "cacheWrite": 0, "total": 0.5});
        let usage = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
            "cost": cost, "cacheWrite1h": 0, "more": [1]});
        vec![
            json!({"role": "system", "content": "s", "sections": {"a": "b", "c": null},
                "toolsAdded": [{"name": "read", "description": "d", "parameters": {}}], "timestamp": 1}),
            json!({"role": "user", "content": [{"type": "text", "text": "t", "textSignature": "s"},
                {"type": "image", "data": "AA", "mimeType": "image/png", "alt": 1}], "timestamp": 1}),
            json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "thinkingSignature": "s", "redacted": false},
                    {"type": "toolCall", "id": "c", "name": "n", "arguments": {"path": "x"}, "later": {}},
                    {"type": "fromTheFuture", "z": 1, "a": 2}],
                "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse",
                "errorMessage": "e", "endTurn": true, "timestamp": 1.5, "unknown": {"b": 1, "a": 2}}),
            json!({"role": "toolResult", "toolCallId": "c", "toolName": "n",
                "content": [{"type": "text", "text": "t"}], "details": null, "usage": usage,
                "isError": false, "timestamp": 1}),
            json!({"role": "bashExecution", "command": "c", "output": "o", "exitCode": 0,
                "cancelled": false, "truncated": false, "timestamp": 1}),
        ]
    }

    fn line(message: &Value) -> Value {
        json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026", "message": message, "x": 1})
    }

    /// Lists the JSON pointers of all nested values.
    fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(key, v)| (key.clone(), v)).collect(),
            Value::Array(list) => list
                .iter()
                .enumerate()
                .map(|(n, v)| (n.to_string(), v))
                .collect(),
            _ => Vec::new(),
        };
        for (key, child) in children {
            let pointer = format!("{at}/{key}");
            pointers(child, &pointer, found);
            found.push(pointer);
        }
    }

    /// Returns variants of a line with every value replaced, removed and moved to the end in turn.
    fn variations(line: &Value) -> Vec<Value> {
        let others = [
            json!(null),
            json!(true),
            json!(-1),
            json!(1.5),
            json!(u64::MAX),
            json!("text"),
            json!("user"),
            json!([]),
            json!(["text"]),
            json!({}),
            json!({"type": "text"}),
        ];
        let mut found = Vec::new();
        pointers(line, "", &mut found);
        let mut variations = vec![line.clone()];
        for pointer in &found {
            for other in &others {
                let mut varied = line.clone();
                *varied.pointer_mut(pointer).unwrap() = other.clone();
                variations.push(varied);
            }
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let mut without = line.clone();
            let Some(Value::Object(fields)) = without.pointer_mut(parent) else {
                continue;
            };
            let value = fields.shift_remove(key).unwrap();
            variations.push(without.clone());
            let fields = without
                .pointer_mut(parent)
                .unwrap()
                .as_object_mut()
                .unwrap();
            fields.insert(key.to_owned(), value);
            variations.push(without);
        }
        variations
    }

    #[test]
    fn the_fast_path_agrees_with_the_lenient_parser() {
        for message in messages() {
            for varied in variations(&line(&message)) {
                let text = varied.to_string();
                let expected: Option<Entry> = serde_json::from_str(&text).ok();
                assert_eq!(Entry::read(&text, MESSAGE).ok(), expected, "{text}");
            }
        }
    }

    #[test]
    fn ordinary_messages_take_the_fast_path() {
        for message in messages().iter().take(4) {
            let text = line(message).to_string();
            assert!(serde_json::from_str::<MessageLine>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_last_of_duplicate_fields_wins() {
        for (once, twice) in [
            (r#""type":"message""#, r#""type":"message","type":"custom""#),
            (r#""id":"a""#, r#""id":"a","id":"b""#),
            (r#""role":"user""#, r#""role":"user","role":"assistant""#),
            (r#""content":"c""#, r#""content":"c","content":"d""#),
            (r#""more":1"#, r#""more":1,"more":2"#),
        ] {
            let text =
                r#"{"type":"message","id":"a","message":{"role":"user","content":"c","more":1}}"#;
            let text = text.replace(once, twice);
            let expected: Entry = serde_json::from_str(&text).unwrap();
            assert_eq!(Entry::read(&text, MESSAGE).unwrap(), expected, "{text}");
        }
    }
}
