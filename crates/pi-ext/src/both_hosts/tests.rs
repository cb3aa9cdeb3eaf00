//! What two hosts make of an event.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Next, hand_on, join};

/// Hands an event from the first host to the second: what the second hears, and what both make of it.
fn both(name: &str, event: Value, first: Value, second: Value) -> (Option<Value>, Value) {
    let mut event = event;
    event["type"] = json!(name);
    if hand_on(&mut event, &first) == Next::Decided {
        return (None, first);
    }
    event.as_object_mut().unwrap().remove("type");
    let result = join(name, first, second);
    (Some(event), result)
}

#[test]
fn a_decision_of_the_first_host_ends_the_event() {
    let cases = [
        ("session_before_fork", json!({ "cancel": true })),
        ("project_trust", json!({ "trusted": "no" })),
        ("user_bash", json!({ "result": { "output": "" } })),
        ("input", json!({ "action": "handled" })),
        ("tool_call", json!({ "block": true, "reason": "no" })),
        ("tool_call", json!({ "failure": "it threw" })),
    ];
    for (name, first) in cases {
        let (heard, result) = both(name, json!({}), first.clone(), json!({ "other": 1 }));
        assert_eq!(heard, None, "{name}");
        assert_eq!(result, first, "{name}");
    }
}

#[test]
fn the_second_host_hears_what_the_first_has_made_of_an_event() {
    let cases = [
        (
            "input",
            json!({ "text": "a", "images": [] }),
            json!({ "action": "transform", "text": "b" }),
            json!({ "text": "b", "images": [] }),
        ),
        (
            "tool_call",
            json!({ "input": { "command": "ls" } }),
            json!({ "input": { "command": "ls -l" } }),
            json!({ "input": { "command": "ls -l" } }),
        ),
        (
            "context",
            json!({ "messages": [1, 2] }),
            json!({ "messages": [2] }),
            json!({ "messages": [2] }),
        ),
        (
            "before_agent_start",
            json!({ "systemPrompt": "a", "systemPromptOptions": {} }),
            json!({ "messages": [1], "systemPrompt": "b", "options": { "cwd": "/" } }),
            json!({ "systemPrompt": "b", "systemPromptOptions": { "cwd": "/" } }),
        ),
        (
            "turn_end",
            json!({ "entries": [], "continue": false }),
            Value::Null,
            json!({ "entries": [], "continue": false }),
        ),
    ];
    for (name, event, first, expected) in cases {
        let (heard, _) = both(name, event, first, Value::Null);
        assert_eq!(heard, Some(expected), "{name}");
    }
}

#[test]
fn two_results_become_one() {
    let cases = [
        ("turn_start", Value::Null, Value::Null, Value::Null),
        (
            "message_end",
            json!({ "message": 1 }),
            Value::Null,
            json!({ "message": 1 }),
        ),
        (
            "session_before_tree",
            json!({ "summary": 1 }),
            json!({ "cancel": true }),
            json!({ "cancel": true }),
        ),
        (
            "resources_discover",
            json!({ "skillPaths": [1], "themePaths": [] }),
            json!({ "skillPaths": [2], "themePaths": [3] }),
            json!({ "skillPaths": [1, 2], "themePaths": [3] }),
        ),
        (
            "before_agent_start",
            json!({ "messages": [1], "systemPrompt": "a", "options": 1 }),
            json!({ "messages": [2], "options": 2 }),
            json!({ "messages": [1, 2], "systemPrompt": "a", "options": 2 }),
        ),
        (
            "tool_result",
            json!({ "content": 1, "isError": true }),
            json!({ "content": 2 }),
            json!({ "content": 2, "isError": true }),
        ),
    ];
    for (name, first, second, expected) in cases {
        assert_eq!(join(name, first, second), expected, "{name}");
    }
}
