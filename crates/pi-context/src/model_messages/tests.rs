//! What each role becomes for the model.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

fn converted(message: Value) -> Option<Value> {
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
fn a_command_includes_its_output_and_exit_status() {
    let cases = [
        (json!({}), "Ran `make`\n(no output)"),
        (json!({"exitCode": 0}), "Ran `make`\n(no output)"),
        (json!({"output": "a\nb"}), "Ran `make`\n```\na\nb\n```"),
        (
            json!({"output": "a", "exitCode": 3}),
            "Ran `make`\n```\na\n```\n\nCommand exited with code 3",
        ),
        (
            json!({"output": "a", "exitCode": 3, "cancelled": true}),
            "Ran `make`\n```\na\n```\n\n(command canceled by the user)",
        ),
        (
            json!({"output": "a", "exitCode": 1, "truncated": true, "fullOutputPath": "/tmp/x"}),
            "Ran `make`\n```\na\n```\n\nCommand exited with code 1\n\n\
             [Output truncated: only the end is shown. Full output: /tmp/x]",
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
fn application_roles_become_user_messages() {
    let text = |text: &str| {
        Some(json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 7}))
    };
    let cases = [
        (
            json!({"role": "bashExecution", "command": "ls", "output": "", "timestamp": 7}),
            text("Ran `ls`\n(no output)"),
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
        assert_eq!(converted(message.clone()), expected, "{message}");
    }
}

#[test]
fn model_roles_are_unchanged() {
    for role in ["system", "user", "assistant", "toolResult"] {
        let message: AgentMessage =
            serde_json::from_value(json!({"role": role, "timestamp": 7})).unwrap();
        assert_eq!(
            to_model_message(&message).map(AgentMessage::from),
            Some(message)
        );
    }
}
