//! A model, or whoever stands between, that sends what no honest one would.

use std::fmt::Write as _;

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::process::{World, answer, begin_with, finish, tool_calls};

/// An answer with calls whose arguments are exactly these texts.
fn written(calls: &[(&str, &str, &str)]) -> ScriptedReply {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| {
            json!({"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let message = json!({"role": "assistant", "tool_calls": calls});
    finish(begin_with(&message), "tool_calls")
}

async fn say(world: &World) -> Value {
    let run = world.run(&["--model", "mock/alpha", "-p", "hello"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stdout, "done\n");
    let requests = world.server.requests();
    requests.last().unwrap().json()
}

fn results(request: &Value) -> Vec<&Value> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .collect()
}

#[tokio::test]
async fn half_a_call_is_not_made() {
    let calls = [
        ("1", "bash", r#"{"command": "touch owned; "#),
        ("2", "bash", r#"{"command": "touch owned "quoted""}"#),
        ("3", "bash", r#"{"command": "touch owned", "timeout": 1"#),
        ("4", "write", r#"{"path": "owned", "content": "half of "#),
        ("5", "bash", r#"{"command": "touch owned"] }"#),
    ];
    let world = World::new([written(&calls), answer("done")]).await;
    let request = say(&world).await;
    let results = results(&request);
    assert_eq!(results.len(), calls.len());
    for result in results {
        let told = result["content"].to_string();
        assert!(told.contains("not run"), "{told}");
    }
    assert!(!world.project().join("owned").exists());
}

#[tokio::test]
async fn calls_that_share_an_id_are_all_made() {
    let calls = [
        ("same", "bash", r#"{"command": "echo one >> first"}"#),
        ("same", "bash", r#"{"command": "echo two >> second"}"#),
    ];
    let world = World::new([written(&calls), answer("done")]).await;
    let request = say(&world).await;
    let results = results(&request);
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["tool_call_id"], "same");
    assert_ne!(results[1]["tool_call_id"], "same");
    assert_eq!(world.home.read("project/first"), "one\n");
    assert_eq!(world.home.read("project/second"), "two\n");
}

#[tokio::test]
async fn escapes_in_arguments_are_seen_by_every_check() {
    // What an extension that looks at commands gets to see is what runs.
    let spelled = "touch owned".bytes().fold(String::new(), |mut text, byte| {
        write!(text, "\\u{byte:04x}").unwrap();
        text
    });
    let arguments = format!("{{\"command\": \"{spelled}\"}}");
    let world = World::new([written(&[("1", "bash", &arguments)]), answer("done")]).await;
    world.home.write(
        "agent/extensions/guard.js",
        "export default (pi) => pi.on('tool_call', (event) =>
            event.input.command.includes('touch') ? { block: true, reason: 'no touching' } : undefined)",
    );
    let request = say(&world).await;
    let told = results(&request)[0]["content"].to_string();
    assert!(told.contains("no touching"), "{told}");
    assert!(!world.project().join("owned").exists());
}

#[tokio::test]
async fn megabytes_of_arguments_are_written_as_they_came() {
    const PIECES: usize = 2;
    let piece = "x".repeat(1 << 20);
    let begin = json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "1", "type": "function",
        "function": {"name": "write", "arguments": r#"{"path": "large.txt", "content": ""#}}]});
    let more = |text: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]});
    let mut reply = begin_with(&begin);
    for _ in 0..PIECES {
        reply = reply.chunk(crate::process::delta(&more(&piece), None));
    }
    let reply = finish(
        reply.chunk(crate::process::delta(&more(r#""}"#), None)),
        "tool_calls",
    );
    let world = World::new([reply, answer("done")]).await;
    // The conversation is longer than the model's window now, and shall not be shortened.
    let settings = json!({"compaction": {"enabled": false}});
    world
        .home
        .write("agent/settings.json", settings.to_string());
    say(&world).await;
    let written = std::fs::metadata(world.project().join("large.txt")).unwrap();
    assert_eq!(written.len(), (PIECES << 20) as u64);
}

#[tokio::test]
async fn a_thousand_calls_in_one_answer_are_all_answered() {
    let arguments = json!({"path": "."});
    let calls = vec![("ls", &arguments); 1000];
    let world = World::new([tool_calls(&calls), answer("done")]).await;
    let run = world
        .run(&["--model", "mock/alpha", "--tools", "ls", "-p", "hello"])
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let request = world.server.requests()[1].json();
    assert_eq!(results(&request).len(), 1000);
}
