use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn request(line: &str) -> RpcRequest {
    match ClientLine::parse(line) {
        ClientLine::Request(request) => request,
        other => panic!("{line}: {other:?}"),
    }
}

fn rejected(line: &str) -> RejectedLine {
    match ClientLine::parse(line) {
        ClientLine::Rejected(rejected) => rejected,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_command_is_parsed_by_its_type() {
    let samples = [
        json!({"type": "prompt", "message": "a", "images": [{"type": "image", "data": "AA==", "mimeType": "image/png"}], "streamingBehavior": "followUp"}),
        json!({"type": "steer", "message": "a"}),
        json!({"type": "follow_up", "message": "a"}),
        json!({"type": "abort"}),
        json!({"type": "resume", "begun": ["call_1"]}),
        json!({"type": "clear_queue"}),
        json!({"type": "answer", "request": "1", "answer": {"type": "allow"}}),
        json!({"type": "new_session", "parentSession": "/a.jsonl"}),
        json!({"type": "get_state"}),
        json!({"type": "get_messages"}),
        json!({"type": "set_model", "provider": "p", "modelId": "m"}),
        json!({"type": "cycle_model"}),
        json!({"type": "get_available_models"}),
        json!({"type": "set_thinking_level", "level": "high"}),
        json!({"type": "cycle_thinking_level"}),
        json!({"type": "get_available_thinking_levels"}),
        json!({"type": "set_steering_mode", "mode": "one-at-a-time"}),
        json!({"type": "set_follow_up_mode", "mode": "all"}),
        json!({"type": "compact", "customInstructions": "short"}),
        json!({"type": "set_auto_compaction", "enabled": true}),
        json!({"type": "set_auto_retry", "enabled": false}),
        json!({"type": "abort_retry"}),
        json!({"type": "bash", "command": "ls", "excludeFromContext": true}),
        json!({"type": "abort_bash"}),
        json!({"type": "get_session_stats"}),
        json!({"type": "export_html", "outputPath": "/a.html"}),
        json!({"type": "switch_session", "sessionPath": "/a.jsonl"}),
        json!({"type": "fork", "entryId": "e"}),
        json!({"type": "clone"}),
        json!({"type": "get_fork_messages"}),
        json!({"type": "get_entries", "since": "e"}),
        json!({"type": "get_tree"}),
        json!({"type": "get_last_assistant_text"}),
        json!({"type": "set_session_name", "name": "n"}),
        json!({"type": "get_commands"}),
        json!({"type": "hello", "elicitation": true}),
        json!({"type": "screen_input", "component": 1, "data": "\u{1b}[A"}),
        json!({"type": "screen_render", "row": {"kind": "entry", "entry": {"customType": "t"}}, "expanded": true}),
        json!({"type": "screen_size", "cols": 80, "rows": 24}),
        json!({"type": "get_mcp_servers"}),
        json!({"type": "mcp_action", "server": "s", "action": "logout"}),
        json!({"type": "list_sessions", "all": true}),
        json!({"type": "search_sessions", "query": "a", "cwd": "/p", "since": 5, "role": "user", "limit": 3}),
        json!({"type": "undo_compaction"}),
        json!({"type": "get_cache_report"}),
        json!({"type": "get_context_report"}),
        json!({"type": "get_extension_costs"}),
        json!({"type": "navigate_tree", "entryId": "e", "summarize": true, "customInstructions": "short"}),
        json!({"type": "set_label", "entryId": "e", "label": "l"}),
        json!({"type": "get_tools"}),
        json!({"type": "set_active_tools", "tools": ["read"]}),
        json!({"type": "get_requests"}),
        json!({"type": "complete", "text": "/c"}),
    ];
    let kinds: Vec<_> = samples
        .iter()
        .map(|sample| sample["type"].as_str().unwrap())
        .collect();
    let known: Vec<_> = COMMANDS
        .iter()
        .copied()
        .filter(|kind| *kind != ExtensionUiResponse::TYPE)
        .collect();
    assert_eq!(kinds, known);
    for sample in samples {
        let read = request(&sample.to_string());
        assert_eq!(serde_json::to_value(&read.command).unwrap(), sample);
        assert_eq!(read.kind, sample["type"].as_str().unwrap());
    }
}

#[test]
fn ids_are_preserved() {
    for (line, id) in [
        (r#"{"type":"abort"}"#, None),
        (r#"{"type":"abort","id":"a"}"#, Some(json!("a"))),
        (r#"{"type":"abort","id":7}"#, Some(json!(7))),
        (r#"{"type":"abort","id":null}"#, Some(json!(null))),
        (
            r#"{"type":"abort","id":{"a":[1]}}"#,
            Some(json!({"a": [1]})),
        ),
    ] {
        assert_eq!(request(line).id, id, "{line}");
    }
}

#[test]
fn null_means_absent_and_unknown_fields_are_ignored() {
    assert_eq!(
        request(
            r#"{"type":"prompt","message":"a","images":null,"streamingBehavior":null,"more":1}"#
        )
        .command,
        Command::Prompt {
            message: "a".to_owned(),
            images: Vec::new(),
            streaming_behavior: None
        }
    );
    assert_eq!(
        request(r#"{"type":"get_entries","since":null}"#).command,
        Command::GetEntries { since: None }
    );
}

#[test]
fn a_lone_surrogate_is_accepted() {
    assert_eq!(
        request(r#"{"type":"set_session_name","name":"a\ud800b"}"#).command,
        Command::SetSessionName {
            name: "a\u{fffd}b".to_owned()
        }
    );
}

#[test]
fn invalid_lines_are_rejected_with_id_and_type() {
    for (line, id, command) in [
        ("", None, Some("parse")),
        ("this is not json", None, Some("parse")),
        (r#"{"type":"get_state""#, None, Some("parse")),
        ("{} {}", None, Some("parse")),
        ("null", None, None),
        ("42", None, None),
        ("true", None, None),
        ("\"prompt\"", None, None),
        ("[]", None, None),
        ("{}", None, None),
        (r#"{"id":"x"}"#, Some(json!("x")), None),
        (r#"{"id":"x","type":5}"#, Some(json!("x")), None),
        (
            r#"{"type":"frobnicate","id":1}"#,
            Some(json!(1)),
            Some("frobnicate"),
        ),
        (r#"{"type":"prompt"}"#, None, Some("prompt")),
        (r#"{"type":"prompt","message":5}"#, None, Some("prompt")),
        (
            r#"{"type":"set_steering_mode","mode":"never"}"#,
            None,
            Some("set_steering_mode"),
        ),
        (
            r#"{"type":"extension_ui_response"}"#,
            None,
            Some("extension_ui_response"),
        ),
    ] {
        let rejected = rejected(line);
        assert_eq!(rejected.id, id, "{line}");
        assert_eq!(rejected.command.as_deref(), command, "{line}");
        assert!(!rejected.error.is_empty(), "{line}");
    }
}

#[test]
fn deep_nesting_is_rejected() {
    let line = "[".repeat(100_000);
    assert_eq!(rejected(&line).command.as_deref(), Some("parse"));
    let line = format!(
        r#"{{"type":"abort","id":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(rejected(&line).command.as_deref(), Some("parse"));
}
