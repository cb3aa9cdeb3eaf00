//! What each role says to a model.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

fn told(message: Value) -> Option<Value> {
    let message: AgentMessage = serde_json::from_value(message).unwrap();
    to_model_message(&message).map(|message| serde_json::to_value(message).unwrap())
}

fn bash(fields: &Value) -> String {
    let mut message = json!({"command": "make", "output": ""});
    for (name, value) in fields.as_object().unwrap() {
        message[name] = value.clone();
    }
    bash_execution_text(&serde_json::from_value(message).unwrap())
}

#[test]
fn a_command_is_told_with_its_output_and_its_end() {
    let cases = [
        (json!({}), "Ran `make`\n(it printed nothing)"),
        (json!({"exitCode": 0}), "Ran `make`\n(it printed nothing)"),
        (json!({"output": "a\nb"}), "Ran `make`\n```\na\nb\n```"),
        (
            json!({"output": "a", "exitCode": 3}),
            "Ran `make`\n```\na\n```\n\nThe command failed with exit code 3.",
        ),
        (
            json!({"output": "a", "exitCode": 3, "cancelled": true}),
            "Ran `make`\n```\na\n```\n\n(the user cancelled the command)",
        ),
        (
            json!({"output": "a", "exitCode": 1, "truncated": true, "fullOutputPath": "/tmp/x"}),
            "Ran `make`\n```\na\n```\n\nThe command failed with exit code 1.\n\n\
             [The beginning of the output is cut off. All of it is in /tmp/x]",
        ),
        (
            json!({"output": "a", "truncated": true}),
            "Ran `make`\n```\na\n```",
        ),
        (
            json!({"output": "a", "fullOutputPath": "/tmp/x"}),
            "Ran `make`\n```\na\n```",
        ),
        (
            json!({"output": "```\nx\n````"}),
            "Ran `make`\n`````\n```\nx\n````\n`````",
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(bash(&fields), expected);
    }
}

#[test]
fn roles_no_model_knows_become_the_users() {
    let text = |text: &str| {
        Some(json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 7}))
    };
    let cases = [
        (
            json!({"role": "bashExecution", "command": "ls", "output": "", "timestamp": 7}),
            text("Ran `ls`\n(it printed nothing)"),
        ),
        (
            json!({"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": true}),
            None,
        ),
        (
            json!({"role": "custom", "customType": "n", "content": "note", "timestamp": 7}),
            text("note"),
        ),
        (
            json!({"role": "custom", "customType": "n", "timestamp": 7, "content": [
                {"type": "image", "data": "AA", "mimeType": "image/png"}]}),
            Some(json!({"role": "user", "timestamp": 7, "content": [
                {"type": "image", "data": "AA", "mimeType": "image/png"}]})),
        ),
        (
            json!({"role": "compactionSummary", "summary": "S", "tokensBefore": 1, "timestamp": 7}),
            text(&format!("{COMPACTION_LEAD}\n\n<summary>\nS\n</summary>")),
        ),
        (
            json!({"role": "branchSummary", "summary": "S", "fromId": "x", "timestamp": 7}),
            text(&format!("{BRANCH_LEAD}\n\n<summary>\nS</summary>")),
        ),
        (json!({"role": "fromTheFuture", "content": "x"}), None),
    ];
    for (message, expected) in cases {
        assert_eq!(told(message.clone()), expected, "{message}");
    }
}

#[test]
fn roles_every_model_knows_stay_as_they_are() {
    for role in ["system", "user", "assistant", "toolResult"] {
        let message: AgentMessage =
            serde_json::from_value(json!({"role": role, "timestamp": 7})).unwrap();
        assert_eq!(
            to_model_message(&message).map(AgentMessage::from),
            Some(message)
        );
    }
}
