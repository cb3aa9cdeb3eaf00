//! Event results combined from two hosts.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{EventFlow, combine_results, merge_result};

/// Returns the event that the second host receives, if any, and the combined result.
fn dispatch_to_both(
    name: &str,
    event: Value,
    first: Value,
    second: Value,
) -> (Option<Value>, Value) {
    let mut event = event;
    event["type"] = json!(name);
    if merge_result(&mut event, &first) == EventFlow::Decided {
        return (None, first);
    }
    event.as_object_mut().unwrap().remove("type");
    let result = combine_results(name, first, second);
    (Some(event), result)
}

#[test]
fn a_final_result_of_the_first_host_ends_the_event() {
    let cases = [
        ("session_before_fork", json!({ "cancel": true })),
        ("project_trust", json!({ "trusted": "no" })),
        ("user_bash", json!({ "result": { "output": "" } })),
        ("input", json!({ "action": "handled" })),
        ("tool_call", json!({ "block": true, "reason": "no" })),
        ("tool_call", json!({ "failure": "it threw" })),
    ];
    for (name, first) in cases {
        let (received, result) =
            dispatch_to_both(name, json!({}), first.clone(), json!({ "other": 1 }));
        assert_eq!(received, None, "{name}");
        assert_eq!(result, first, "{name}");
    }
}

#[test]
fn the_second_host_receives_the_changes_of_the_first() {
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
        let (received, _) = dispatch_to_both(name, event, first, Value::Null);
        assert_eq!(received, Some(expected), "{name}");
    }
}

#[test]
fn results_of_both_hosts_are_combined() {
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
        assert_eq!(combine_results(name, first, second), expected, "{name}");
    }
}
