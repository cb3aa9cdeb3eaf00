//! Sessions that extensions run, with their extensions: what sub-agent packages do. The facts are
//! those of the TypeScript pi 1.5.0.
#![cfg(unix)]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply, tool_call_reply};
use crate::reference_client::node_of;

fn expected() -> Value {
    json!({
        "loaded": [["<inline:child>", "<inline:1>"], 0, 0],
        "model": ["alpha", null],
        "unknown": "string",
        "newFile": [true, false],
        "extensions": 2,
        "tools": ["lookup"],
        "tool": ["print", false, "alpha", "1", false],
        "text": "found it",
        "events": [true, "agent_settled"],
        "failures": ["<inline:child> agent_end failing handler"],
        "isFailing": false,
        "queued": false,
        "steered": ["queued", 1, false, ["one more"]],
        "live": true,
        "branch": ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"],
        "appended": "custom",
        "handlers": [true, false],
        "stored": ["lookups", "after"],
        "seen": [
            "session_start startup 2",
            "before_agent_start look it up",
            "tool_call lookup",
            "tool_result false",
            "tool_call lookup",
            "agent_end",
            "session_shutdown quit",
        ],
    })
}

async fn run_agents(settings: &str) -> (Value, Vec<Value>) {
    let replies = [
        tool_call_reply("lookup", &json!({"word": "tree"})),
        tool_call_reply("lookup", &json!({"word": "secret"})),
        text_reply("found it"),
        text_reply("main"),
    ];
    let context = TestContext::new(replies).await;
    context.home.write("agent/settings.json", settings);
    let source = include_str!("extension_agents/agents.ts");
    let file = context.home.write("agents.ts", source);
    let file = file.to_string_lossy();
    let mut command = context.command(&["--model", "mock/alpha", "-e", &file, "-p", "hi"]);
    if let Some(node) = node_of("1.5.0") {
        let path = std::env::var("PATH").unwrap_or_default();
        let directory = node.parent().unwrap().display();
        command.env("PATH", format!("{directory}:{path}"));
    }
    let run = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let run = PiOutput::new(run.expect("pi timed out").unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    let observed = std::fs::read(context.project_dir().join("observed.json"));
    let observed = observed.unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let bodies = context.server.requests().into_iter();
    let bodies = bodies.map(|request| request.json()).collect();
    (serde_json::from_slice(&observed).unwrap(), bodies)
}

fn assert_observed((observed, requests): (Value, Vec<Value>)) {
    assert_eq!(observed, expected());
    let first = &requests[0]["messages"][0]["content"];
    assert_eq!(first, "You are the child.");
    let blocked = &requests[2]["messages"];
    let last = blocked.as_array().and_then(|messages| messages.last());
    assert_eq!(last.unwrap()["content"], "not allowed");
}

#[tokio::test]
async fn agents_have_extensions_in_the_embedded_engine() {
    assert_observed(run_agents("{}").await);
}

#[tokio::test]
async fn agents_have_extensions_on_node() {
    if node_of("1.5.0").is_some() {
        assert_observed(run_agents(r#"{"extensionHost": "node"}"#).await);
    }
}
