//! Replays of every kind of turn, and of records that differ from what the loop does.

#![expect(
    clippy::disallowed_methods,
    reason = "test files need no atomic writes"
)]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": 1})
}

fn response(content: &Value, stop_reason: &str) -> Value {
    json!({
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
        "model": "some-model", "stopReason": stop_reason, "timestamp": 2,
        "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
    })
}

fn text_response(text: &str) -> Value {
    response(&json!([{"type": "text", "text": text}]), "stop")
}

fn calls(ids: &[&str]) -> Value {
    let calls = ids.iter().map(|id| {
        json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": "touch ran"}})
    });
    response(&Value::Array(calls.collect()), "toolUse")
}

fn result(id: &str, text: &str, is_error: bool) -> Value {
    json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": is_error,
        "content": [{"type": "text", "text": text}], "details": {"exitCode": 0}, "timestamp": 3,
    })
}

fn failed_response(message: &str) -> Value {
    let mut failed_response = response(&json!([]), "error");
    failed_response["errorMessage"] = message.into();
    failed_response
}

fn record(messages: &[Value]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let header = json!({
        "type": "session", "version": 3, "id": "01890a5d-ac96-774b-bcce-b302099a8057",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/project",
    });
    let mut lines = vec![header.to_string()];
    let mut parent = Value::Null;
    for (number, message) in messages.iter().enumerate() {
        let id = format!("{number:08x}");
        let mut entry = json!({
            "type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-01-01T00:00:00.000Z", "message": message,
        });
        if message.get("customType").is_some() {
            entry = json!({
                "type": "custom_message", "id": id, "parentId": parent, "display": true,
                "timestamp": "2026-01-01T00:00:00.000Z", "customType": "x", "content": "hello",
            });
        }
        lines.push(entry.to_string());
        parent = id.into();
    }
    std::fs::write(file.path(), lines.join("\n") + "\n").unwrap();
    file
}

async fn replay_messages(
    messages: impl IntoIterator<Item = Value>,
) -> Result<ReplayReport, ReplayError> {
    let messages: Vec<Value> = messages.into_iter().collect();
    let file = record(&messages);
    replay(file.path(), &Env::fixed([("HOME", "/nonexistent")])).await
}

#[tokio::test]
async fn every_kind_of_turn_is_replayed_identically() {
    let mut steered = calls(&["call-3"]);
    steered["content"].as_array_mut().unwrap().insert(
        0,
        json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}),
    );
    let messages = [
        user("one"),
        text_response("first"),
        user("two"),
        calls(&["call-1", "call-2"]),
        result("call-1", "done", false),
        result("call-2", "it failed", true),
        text_response("second"),
        user("three"),
        steered,
        result("call-3", "done", false),
        user("do it another way"),
        user("and quickly"),
        text_response("third"),
        user("four"),
        failed_response("529 overloaded"),
        text_response("fourth"),
        user("five"),
        failed_response("invalid request"),
        user("six"),
        response(&json!([{"type": "text", "text": "half"}]), "aborted"),
        user("seven"),
    ];
    let report = replay_messages(messages).await.unwrap();
    assert_eq!(report.difference, None);
    assert_eq!(
        (report.messages, report.answers, report.skipped),
        (21, 9, 0)
    );
    assert!(!std::path::Path::new("ran").exists());
}

#[tokio::test]
async fn the_first_difference_is_reported() {
    // The loop runs calls in order and stores a result for each; this record lacks one.
    let report = replay_messages([
        user("one"),
        calls(&["call-1", "call-2"]),
        result("call-1", "done", false),
        text_response("first"),
    ]);
    let difference = report.await.unwrap().difference.unwrap();
    assert_eq!(difference.position, 4);
    assert!(difference.recorded.unwrap().contains("first"));
    assert!(difference.replayed.unwrap().contains("call-2"));

    // A failure that is retried must have a second attempt.
    let report = replay_messages([
        user("one"),
        failed_response("invalid request"),
        text_response("after all"),
    ]);
    let difference = report.await.unwrap().difference.unwrap();
    assert_eq!((difference.position, difference.replayed), (3, None));
}

#[tokio::test]
async fn messages_after_an_extension_message_are_skipped() {
    let report = replay_messages([
        user("one"),
        text_response("first"),
        json!({"customType": "x"}),
        text_response("second"),
    ]);
    let report = report.await.unwrap();
    assert_eq!(
        (report.messages, report.skipped, report.difference),
        (2, 1, None)
    );
}

#[tokio::test]
async fn invalid_records_are_rejected() {
    assert!(matches!(
        replay_messages([]).await,
        Err(ReplayError::NoPrompt)
    ));
    let env = Env::fixed::<&str, &str>([]);
    let missing = replay(Path::new("/nonexistent/record"), &env).await;
    assert!(matches!(
        missing,
        Err(ReplayError::Record(RecordError::Unreadable { .. }))
    ));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [0x1f, 0x8b, 8, 0, 1, 2, 3]).unwrap();
    assert!(replay(file.path(), &env).await.is_err());
    std::fs::write(file.path(), "{\"type\":\"something\"}\n").unwrap();
    assert!(replay(file.path(), &env).await.is_err());
}
