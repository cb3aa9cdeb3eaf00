//! The files of `docs/schema`, and checks of what they accept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use pi_fs::NewFileMode;
use pi_fs::atomic_file;
use pi_protocol::{
    Ack, AgentMessage, Answer, Command, Entry, Envelope, Rejected, Request, ScreenEvent,
    SessionEvent, SessionHeader, Snapshot,
};
use pretty_assertions::assert_eq;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::{UPDATE, openapi, typescript};

/// Returns the schema of a type, as pi writes it.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // An absent title would leave the name of the type to the file name.
    schema.insert("title".to_owned(), T::schema_name().into_owned().into());
    schema.to_value()
}

fn schemas() -> [(&'static str, Value); 12] {
    [
        ("ack", schema_of::<Ack>()),
        ("answer", schema_of::<Answer>()),
        ("command", schema_of::<Command>()),
        ("entry", schema_of::<Entry>()),
        ("envelope", schema_of::<Envelope>()),
        ("message", schema_of::<AgentMessage>()),
        ("rejected", schema_of::<Rejected>()),
        ("request", schema_of::<Request>()),
        ("screen-event", schema_of::<ScreenEvent>()),
        ("session-event", schema_of::<SessionEvent>()),
        ("session-header", schema_of::<SessionHeader>()),
        ("snapshot", schema_of::<Snapshot>()),
    ]
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

/// Returns the generated files by name.
fn generated() -> BTreeMap<String, String> {
    let schemas = schemas();
    let mut files = BTreeMap::new();
    for (name, schema) in &schemas {
        let text = serde_json::to_string_pretty(schema).unwrap();
        files.insert(format!("{name}.json"), format!("{text}\n"));
    }
    let types = typescript::declarations(schemas.iter().map(|(_, schema)| schema));
    files.insert("pi.d.ts".to_owned(), types);
    files.insert(openapi::FILE.to_owned(), openapi::document(&schemas));
    files
}

#[test]
fn generated_schemas_are_up_to_date() {
    let generated = generated();
    let directory = directory();
    if std::env::var_os(UPDATE).is_some() {
        for (name, text) in &generated {
            let path = directory.join(name);
            atomic_file::write(&path, text.as_bytes(), NewFileMode::Default).unwrap();
        }
    }
    let stored = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    let stale: Vec<&String> = generated
        .iter()
        .filter(|(name, text)| stored(name) != **text)
        .map(|(name, _)| name)
        .collect();
    assert!(stale.is_empty(), "run `cargo xtask schema`: {stale:?}");
}

/// A compiled schema.
struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl Validator {
    fn new(schema: Value) -> Self {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.add_resource("schema.json", schema).unwrap();
        let root = compiler.compile("schema.json", &mut schemas).unwrap();
        Self { schemas, root }
    }

    fn validate(&self, value: &Value) -> Result<(), String> {
        let result = self.schemas.validate(value, self.root);
        result.map_err(|error| error.to_string())
    }
}

#[test]
fn samples_match_their_schemas() {
    let usage = json!({"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5}});
    let response = json!({"role": "assistant", "content": [{"type": "text", "text": "hi"}], "api": "a",
        "provider": "p", "model": "m", "usage": usage, "stopReason": "stop", "timestamp": 1});
    let approval =
        json!({"id": "1", "call": "c", "method": "approval", "toolName": "bash", "args": {}});
    let events = [
        json!({"type": "agent_settled", "aborted": false}),
        json!({"type": "message_end", "message": response}),
        json!({"type": "message_update", "usage": usage,
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "d"}}),
        json!({"type": "message_update", "usage": usage, "assistantMessageEvent": {"type": "toolcall_end",
            "contentIndex": 0, "toolCall": {"type": "toolCall", "id": "i", "name": "n", "arguments": {}}}}),
        json!({"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "manual"}),
        json!({"type": "entry_appended", "entry": {"type": "label", "id": "a", "parentId": null,
            "timestamp": "t", "targetId": "b", "label": "l"}}),
        json!({"type": "approval_requested", "request": approval}),
        json!({"type": "approval_resolved", "request": "1", "answer": {"type": "deny", "reason": "r"}}),
        json!({"type": "dialog_requested", "request": {"id": "2", "method": "input", "title": "t"}}),
        json!({"type": "dialog_resolved", "request": "2", "answer": {"type": "value", "value": "v"}}),
    ];
    let envelope = Validator::new(schema_of::<Envelope>());
    for event in events {
        let sample = json!({"session": "s", "seq": 1, "at": 2, "event": event});
        assert_eq!(envelope.validate(&sample), Ok(()), "{sample}");
    }
    for wrong in [
        json!({"type": "agent_settled", "aborted": false}),
        json!({"session": "s", "seq": 1, "at": 2, "event": {"type": "no"}}),
    ] {
        assert!(envelope.validate(&wrong).is_err(), "{wrong}");
    }
    let command = Validator::new(schema_of::<Command>());
    for right in [
        json!({"type": "prompt", "message": "hi"}),
        json!({"type": "answer", "request": "1", "answer": {"type": "allow"}}),
    ] {
        assert_eq!(command.validate(&right), Ok(()));
    }
    assert!(command.validate(&json!({"type": "prompt"})).is_err());
}

#[test]
fn the_declarations_are_valid_typescript() {
    let files = generated();
    let allocator = oxc_allocator::Allocator::default();
    let parsed =
        oxc_parser::Parser::new(&allocator, &files["pi.d.ts"], oxc_span::SourceType::d_ts())
            .parse();
    let error = parsed.diagnostics.errors().next().map(ToString::to_string);
    assert_eq!(error, None);
}
