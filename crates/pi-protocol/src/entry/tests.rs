//! Entries of every type survive a round trip.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

const USAGE: &str = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0,"output":0.000021,"cacheRead":0,"cacheWrite":0,"total":0.000021}}"#;

fn line(kind: &str, fields: &str) -> String {
    format!(
        r#"{{"type":"{kind}","id":"a1b2c3d4","parentId":"00000000","timestamp":"2026-01-01T00:00:00.000Z"{}{fields}}}"#,
        if fields.is_empty() { "" } else { "," }
    )
}

fn read(line: &str) -> Entry {
    serde_json::from_str(line).unwrap()
}

#[test]
fn every_type_round_trips_in_field_order() {
    let cases = [
        line(
            "message",
            r#""message":{"role":"system","content":"","sections":{"preamble":"p","cwd":null},"toolsAdded":[{"name":"read","description":"d","parameters":{}}],"timestamp":1}"#,
        ),
        line(
            "message",
            r#""message":{"role":"user","content":"hi","timestamp":1}"#,
        ),
        line(
            "message",
            &format!(
                r#""message":{{"role":"assistant","content":[{{"type":"text","text":"hi"}}],"api":"a","provider":"p","model":"m","usage":{USAGE},"stopReason":"stop","timestamp":1}}"#
            ),
        ),
        line(
            "message",
            r#""message":{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"details":null,"isError":false,"timestamp":1}"#,
        ),
        line(
            "message",
            r#""message":{"role":"bashExecution","command":"ls","output":"x","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1}"#,
        ),
        line(
            "message",
            r#""message":{"role":"fromTheFuture","payload":[1,2]}"#,
        ),
        line("model_change", r#""provider":"p","modelId":"m""#),
        line("thinking_level_change", r#""thinkingLevel":"high""#),
        line(
            "usage",
            &format!(
                r#""kind":"cache_warm","provider":"p","model":"m","usage":{USAGE},"note":"n""#
            ),
        ),
        line(
            "compaction",
            &format!(
                r#""summary":"s","firstKeptEntryId":"00000000","tokensBefore":5,"details":{{"readFiles":[]}},"usage":{USAGE},"fromHook":false,"systemMessage":{{"role":"system","content":"c","toolsAdded":[],"timestamp":3}}"#
            ),
        ),
        line(
            "compaction",
            r#""summary":"s","firstKeptEntryId":"a1b2c3d4","tokensBefore":5"#,
        ),
        line(
            "branch_summary",
            r#""fromId":"root","summary":"s","details":null,"fromHook":true"#,
        ),
        line(
            "context_edit",
            r#""targetId":"00000000","replacement":null"#,
        ),
        line(
            "context_edit",
            r#""targetId":"00000000","replacement":{"content":[{"type":"text","text":"x"}],"why":"because"}"#,
        ),
        line("custom", r#""customType":"x","data":null"#),
        line("custom", r#""customType":"x""#),
        line(
            "custom_message",
            r#""customType":"x","content":[{"type":"image","data":"AA","mimeType":"image/png"}],"display":true,"details":{"b":1,"a":2}"#,
        ),
        line("label", r#""targetId":"00000000","label":"here""#),
        line("label", r#""targetId":"00000000""#),
        line("session_info", r#""name":"""#),
        line(
            "from_the_future",
            r#""z":1,"a":{"nested":[null,0.5,1e+21]}"#,
        ),
    ];
    for case in cases {
        assert_eq!(crate::json::to_string(&read(&case)).unwrap(), case);
    }
}

#[test]
fn unknown_fields_of_known_types_follow_the_known_ones() {
    let entry = read(&line(
        "model_change",
        r#""zeta":[1],"provider":"p","modelId":"m","alpha":null"#,
    ));
    assert_eq!(
        entry.body,
        EntryBody::ModelChange(ModelChangeEntry {
            provider: "p".to_owned(),
            model_id: "m".to_owned(),
        })
    );
    assert_eq!(
        crate::json::to_string(&entry).unwrap(),
        line(
            "model_change",
            r#""provider":"p","modelId":"m","zeta":[1],"alpha":null"#
        )
    );
}

#[test]
fn a_known_type_with_an_unexpected_shape_is_kept() {
    for case in [
        line("model_change", r#""provider":7"#),
        line("label", ""),
        line("message", r#""message":null"#),
        line(
            "context_edit",
            r#""targetId":"a","replacement":"no object""#,
        ),
    ] {
        let entry = read(&case);
        assert!(matches!(entry.body, EntryBody::Unknown(_)), "{case}");
        assert_eq!(crate::json::to_string(&entry).unwrap(), case);
    }
}

#[test]
fn an_entry_requires_only_type_and_id() {
    let entry = read(r#"{"type":"custom","customType":"x","id":"1"}"#);
    assert_eq!((entry.parent_id, entry.timestamp.as_str()), (None, ""));
    for case in [
        json!({"id": "1"}),
        json!({"type": "custom"}),
        json!([]),
        json!({"type": "label", "id": 4}),
    ] {
        assert!(Entry::deserialize(&case).is_err(), "{case}");
    }
}
