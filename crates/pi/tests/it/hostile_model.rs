//! Malicious or malformed responses from a model or a proxy.

use std::fmt::Write as _;

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, finish_reply, partial_reply_with, text_reply, tool_calls_reply};

/// A reply with tool calls, given as ID, name and raw argument text.
fn raw_calls_reply(calls: &[(&str, &str, &str)]) -> ScriptedReply {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| {
            json!({"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let message = json!({"role": "assistant", "tool_calls": calls});
    finish_reply(partial_reply_with(&message), "tool_calls")
}

/// Sends a prompt and returns the last request.
async fn send_prompt(context: &TestContext) -> Value {
    let run = context.run(&["--model", "mock/alpha", "-p", "hello"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stdout, "done\n");
    let requests = context.server.requests();
    requests.last().unwrap().json()
}

fn tool_results(request: &Value) -> Vec<&Value> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .collect()
}

#[tokio::test]
async fn calls_with_invalid_arguments_are_not_run() {
    let calls = [
        ("1", "bash", r#"{"command": "touch owned; "#),
        ("2", "bash", r#"{"command": "touch owned "quoted""}"#),
        ("3", "bash", r#"{"command": "touch owned", "timeout": 1"#),
        ("4", "write", r#"{"path": "owned", "content": "half of "#),
        ("5", "bash", r#"{"command": "touch owned"] }"#),
    ];
    let context = TestContext::new([raw_calls_reply(&calls), text_reply("done")]).await;
    let request = send_prompt(&context).await;
    let results = tool_results(&request);
    assert_eq!(results.len(), calls.len());
    for result in results {
        let text = result["content"].to_string();
        assert!(text.contains("not run"), "{text}");
    }
    assert!(!context.project_dir().join("owned").exists());
}

#[tokio::test]
async fn calls_with_the_same_id_all_run() {
    let calls = [
        ("same", "bash", r#"{"command": "echo one >> first"}"#),
        ("same", "bash", r#"{"command": "echo two >> second"}"#),
    ];
    let context = TestContext::new([raw_calls_reply(&calls), text_reply("done")]).await;
    let request = send_prompt(&context).await;
    let results = tool_results(&request);
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["tool_call_id"], "same");
    assert_ne!(results[1]["tool_call_id"], "same");
    assert_eq!(context.home.read("project/first"), "one\n");
    assert_eq!(context.home.read("project/second"), "two\n");
}

#[tokio::test]
async fn hooks_see_unescaped_arguments() {
    let escaped = "touch owned".bytes().fold(String::new(), |mut text, byte| {
        write!(text, "\\u{byte:04x}").unwrap();
        text
    });
    let arguments = format!("{{\"command\": \"{escaped}\"}}");
    let context = TestContext::new([
        raw_calls_reply(&[("1", "bash", &arguments)]),
        text_reply("done"),
    ])
    .await;
    context.home.write(
        "agent/extensions/guard.js",
        "export default (pi) => pi.on('tool_call', (event) =>
            event.input.command.includes('touch') ? { block: true, reason: 'touch is blocked' } : undefined)",
    );
    let request = send_prompt(&context).await;
    let text = tool_results(&request)[0]["content"].to_string();
    assert!(text.contains("touch is blocked"), "{text}");
    assert!(!context.project_dir().join("owned").exists());
}

#[tokio::test]
async fn megabytes_of_arguments_arrive_unchanged() {
    const CHUNKS: usize = 2;
    let chunk = "x".repeat(1 << 20);
    let first = json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "1", "type": "function",
        "function": {"name": "write", "arguments": r#"{"path": "large.txt", "content": ""#}}]});
    let more = |text: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]});
    let mut reply = partial_reply_with(&first);
    for _ in 0..CHUNKS {
        reply = reply.chunk(crate::harness::delta_event(&more(&chunk), None));
    }
    let reply = finish_reply(
        reply.chunk(crate::harness::delta_event(&more(r#""}"#), None)),
        "tool_calls",
    );
    let context = TestContext::new([reply, text_reply("done")]).await;
    // The conversation exceeds the context window; compaction would replace it.
    let settings = json!({"compaction": {"enabled": false}});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    send_prompt(&context).await;
    let written = std::fs::metadata(context.project_dir().join("large.txt")).unwrap();
    assert_eq!(written.len(), (CHUNKS << 20) as u64);
}

#[tokio::test]
async fn a_thousand_calls_in_one_response_all_get_results() {
    let arguments = json!({"path": "."});
    let calls = vec![("ls", &arguments); 1000];
    let context = TestContext::new([tool_calls_reply(&calls), text_reply("done")]).await;
    let run = context
        .run(&["--model", "mock/alpha", "--tools", "ls", "-p", "hello"])
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let request = context.server.requests()[1].json();
    assert_eq!(tool_results(&request).len(), 1000);
}
