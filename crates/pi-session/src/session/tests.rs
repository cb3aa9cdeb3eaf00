//! Guarantees of the log on failing disks, and round trips through the file.

use std::path::Path;
use std::sync::Arc;

use pi_env::Env;
use pi_protocol::{
    AgentMessage, AssistantMessage, CompactionEntry, ContextEditEntry, ContextReplacement,
    CustomEntry, CustomMessageEntry, EntryBody, LabelEntry, ModelChangeEntry, SessionInfoEntry,
    ThinkingLevelChangeEntry, ToolResultMessage, UnknownEntry, UsageEntry, UserMessage,
};
use serde_json::json;

use super::*;
use crate::storage::faulty::FaultyDisk;

mod faults;
mod packed_index;
mod round_trip;
mod writers;

/// A session is owned by one task, which may run on any thread.
const _: fn() = || {
    fn assert_send_sync<T: Send + Sync>() {}
    assert_send_sync::<Session>();
};

const PATH: &str = "/sessions/one.jsonl";

fn header() -> SessionHeader {
    SessionHeader::new("one", "2026-01-01T00:00:00.000Z", "/project")
}

/// A session that is not saved yet.
fn deferred(disk: &FaultyDisk) -> Session {
    let content = encode_record(&header()).unwrap();
    Session::from_content(
        Arc::new(disk.clone()),
        Env::process(),
        SessionLocation::Deferred(PATH.into()),
        "/project".into(),
        header(),
        content,
    )
    .unwrap()
}

fn open(disk: &FaultyDisk, access: AccessMode) -> Result<Session, SessionError> {
    Session::open_in(
        Arc::new(disk.clone()),
        Path::new(PATH),
        OpenSession {
            access,
            ..OpenSession::default()
        },
    )
}

fn entries(session: &Session) -> Vec<Entry> {
    let entries = session
        .entries()
        .iter()
        .map(|entry| (*entry.unwrap()).clone());
    entries.collect()
}

fn user(text: &str) -> EntryBody {
    EntryBody::Message(AgentMessage::from(UserMessage {
        content: text.into(),
        timestamp: 1,
        ..UserMessage::default()
    }))
}

fn assistant(text: &str) -> EntryBody {
    EntryBody::Message(AgentMessage::from(AssistantMessage {
        content: vec![pi_protocol::AssistantBlock::text(text)],
        stop_reason: pi_protocol::StopReason::Stop,
        timestamp: 2,
        ..AssistantMessage::default()
    }))
}

fn tool_result(text: &str) -> EntryBody {
    EntryBody::Message(AgentMessage::from(ToolResultMessage {
        tool_call_id: "call".to_owned(),
        content: vec![pi_protocol::InputBlock::text(text)],
        timestamp: 3,
        ..ToolResultMessage::default()
    }))
}

/// One body of every type; `target` is an entry that they may refer to.
fn one_of_each(target: &EntryId, text: &str) -> Vec<EntryBody> {
    let name = text.to_owned();
    vec![
        user(text),
        assistant(text),
        tool_result(text),
        ModelChangeEntry {
            provider: name.clone(),
            model_id: "m".to_owned(),
        }
        .into(),
        ThinkingLevelChangeEntry {
            thinking_level: "high".to_owned(),
        }
        .into(),
        UsageEntry {
            kind: name.clone(),
            provider: "p".to_owned(),
            model: "m".to_owned(),
            usage: pi_protocol::Usage::default(),
            note: None,
        }
        .into(),
        CompactionEntry {
            summary: name.clone(),
            first_kept_entry_id: None,
            tokens_before: 7,
            details: Some(json!({ "readFiles": [name] })),
            usage: None,
            from_hook: None,
            system_message: None,
        }
        .into(),
        CustomEntry {
            custom_type: name.clone(),
            data: Some(json!(null)),
        }
        .into(),
        CustomMessageEntry {
            custom_type: "x".to_owned(),
            content: text.into(),
            display: true,
            details: None,
        }
        .into(),
        LabelEntry {
            target_id: target.clone(),
            label: Some(name.clone()),
        }
        .into(),
        SessionInfoEntry {
            name: Some("named".to_owned()),
        }
        .into(),
        UnknownEntry {
            type_name: "from_the_future".to_owned(),
            fields: [("z".to_owned(), json!(name))].into_iter().collect(),
        }
        .into(),
    ]
}
